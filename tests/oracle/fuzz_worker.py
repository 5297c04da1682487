"""Answers statements one by one in one session of one engine: a JSON text a line on stdin, a JSON line per answer on stdout."""

import base64
import importlib
import json
import os
import sys

from worker import MODULES


def main(engine, database):
    # The engine may write to descriptor 1; answers go to a private copy of it.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    session = importlib.import_module(MODULES[engine]).connect(database)
    for line in sys.stdin:
        try:
            result = session.query(json.loads(line), "TabSeparatedWithNamesAndTypes")
            answer = {"output": base64.b64encode(bytes(result.bytes() or b"")).decode()}
        except Exception as error:  # every kind of failure is an answer here
            answer = {"error": str(error)}
        print(json.dumps(answer), file=answers)
    # The kernel's shutdown is slow and of no interest.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
