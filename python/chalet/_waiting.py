"""Waits for what a server answers to a conversation, whose steps block nothing."""

from __future__ import annotations

import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._chalet import Conversation


def answered(talk: Conversation) -> Any:
    """The answer. The interpreter is asked ten times a second whether somebody wants it to end."""
    try:
        while True:
            what, seconds, _ = talk.step()
            if what == 0:
                return talk.answer()
            if what == 3:
                talk.connect()
            elif what in (1, 2):
                time.sleep(seconds)
                at = [talk.fileno()]
                select.select(at if what == 1 else [], at if what == 2 else [], [], 0.1)
    finally:
        talk.stop()
