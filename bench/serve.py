"""What the processes of engines have in common: sets one engine up, says what it is, and answers requests until there are no more.

  NAME THREADS

A request is one JSON a line on stdin, an answer one JSON a line on stdout. The first line tells the version of the engine and the
file that it came from, empty where no module has its name, or the error for which it cannot start.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any


def serve(engines: dict[str, Any], answer: Callable[[Any, dict[str, Any]], dict[str, Any]]) -> None:
    name, threads = sys.argv[1:]
    # Whatever an engine prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        engine = engines[name](int(threads))
        first = {"version": engine.version, "from": getattr(sys.modules.get(name), "__file__", "")}
    except BaseException as error:
        first = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(first), file=answers, flush=True)
    if "error" in first:
        return
    for line in sys.stdin:
        print(json.dumps(answer(engine, json.loads(line))), file=answers, flush=True)
