"""`python -m chalet`, which is the program `chalet`: see `python -m chalet --help`."""

import sys

from ._shell.main import main

if __name__ == "__main__":
    sys.exit(main())
