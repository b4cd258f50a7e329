"""`python -P -m headwater`: the command line; `python -P -m headwater workers rest`: a program of the platform."""

import sys

from headwater.command import run_program

if __name__ == "__main__":
    sys.exit(run_program())
