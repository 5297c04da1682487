"""Runs statements in one fresh session of one engine: a JSON list of statements on stdin, a JSON line per answer on stdout.

The engine runs in a process of its own because a crash of it must not take the oracle along.
"""

import base64
import importlib
import json
import os
import sys

MODULES = {"kernel": "chdb", "chalet": "chalet"}


def main(engine):
    job = json.load(sys.stdin)
    # The engine may write to descriptor 1; answers go to a private copy of it.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    session = importlib.import_module(MODULES[engine]).connect(":memory:")
    for index, sql in job:
        answer = {"i": index}
        try:
            result = session.query(sql, "TabSeparated")
            answer["output"] = base64.b64encode(bytes(result.bytes() or b"")).decode()
        except Exception as error:  # every kind of failure is an answer here
            answer["error"] = str(error)
        print(json.dumps(answer), file=answers)
    # The kernel's shutdown is slow and of no interest.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
