"""Programs that run in a process of their own, with mechanisms of the engine switched on or off."""

import json
import os
import subprocess
import sys


def answers(program, given, switches="", folder=None):
    """What a program prints as JSON, which reads what it is given from its standard input."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(given),
        env=os.environ | {"CHALET_SWITCHES": switches},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
