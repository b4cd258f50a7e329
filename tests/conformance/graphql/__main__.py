"""Run the GraphQL conformance cases against a platform of their own.

    python -m tests.conformance.graphql [--cases FILE] [--runner FILE] [--report FILE] [--only NAME ...]

Prints the score by file, each step that failed, and `GraphQL conformance: P/T, messages P/T`. The exit status is 0 when
the run took place, whatever the score.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from tests.platform import Platform, platform

DEFAULT = Path(__file__).resolve().parents[4] / "shared" / "conformance" / "graphql"
_ENVIRONMENT = {
    "HEADWATER_API_SCHEMAS": "public",
    "HEADWATER_DB_SETTINGS": '{"timezone": "PST8PDT"}',  # in which the expected answers were recorded
}
_SCORE = re.compile(r"^GRAPHQL pass (\d+)/(\d+) .*messages (\d+)/(\d+)", re.MULTILINE)


def main() -> int:
    """Run the cases; 2 when they cannot be run."""
    options = _arguments()
    missing = [path for path in (options.cases, options.runner) if not path.exists()]
    if missing:
        print(f"not there: {', '.join(map(str, missing))}", file=sys.stderr)
        return 2
    with platform("--edge", "gateway", "--pool", "graphql", environment=_ENVIRONMENT) as one:
        done = _run(one, options)
    print(done.stdout, end="")
    found = _SCORE.search(done.stdout)
    if found is None:
        print(done.stderr, file=sys.stderr)
        return 2
    print(f"GraphQL conformance: {found[1]}/{found[2]}, messages {found[3]}/{found[4]}")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=Path, default=DEFAULT / "cases.json")
    parser.add_argument("--runner", type=Path, default=DEFAULT / "run.py", help="sends the cases")
    parser.add_argument("--report", type=Path, help="write the outcome of each step here")
    parser.add_argument("--only", nargs="*", help="run only these files")
    return parser.parse_args()


def _run(one: Platform, options: argparse.Namespace) -> subprocess.CompletedProcess[str]:
    """Send the cases, with the database's superuser for what they do in SQL."""
    password = json.loads((one.data / "passwords.json").read_text())["database"]
    port = one.values["DB_URL"].rpartition(":")[2].partition("/")[0]
    further = ["--report", str(options.report)] if options.report else []
    further += ["--only", *options.only] if options.only else []
    return subprocess.run(
        [
            sys.executable, str(options.runner), "--base-url", one.values["GRAPHQL_URL"], "--cases", str(options.cases),
            "--db-url", f"postgresql://supabase_admin:{password}@127.0.0.1:{port}/postgres",
            "--jwt-secret", one.values["JWT_SECRET"], "--apikey", one.values["ANON_KEY"],
            "--service-key", one.values["SERVICE_ROLE_KEY"], "-v", *further,
        ],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
