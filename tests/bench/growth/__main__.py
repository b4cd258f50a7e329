"""How each cost grows: workers 1 -> 4 processes, tables 10 -> 2,000, roles 1 -> 200, subscribers 1 -> 20,000.

    python -m tests.bench.growth [--only processes,tables,roles,subscribers,calls,shares] [--seconds 2] [--repeat 3] [--record]

Every part starts a platform of its own. Printed: each figure at each size, and its slope: how much a further table, role,
process or subscriber adds.
"""

import argparse
import sys

from tests.bench.growth import calls, processes, roles, shares, subscribers, tables
from tests.bench.table import Figures, add_record_option

_PARTS = {
    "processes": processes.measure,
    "tables": tables.measure,
    "roles": roles.measure,
    "subscribers": subscribers.measure,
    "calls": calls.measure,
    "shares": shares.measure,
}


def main() -> int:
    """Run the parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(_PARTS), help="comma separated")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one run")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each cell; the median counts")
    add_record_option(parser)
    options = parser.parse_args()
    figures = Figures("growth")
    for name in options.only.split(","):
        print(f"== {name}", flush=True)
        _PARTS[name](options, figures)
    figures.finish(options.record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
