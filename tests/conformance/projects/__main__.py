"""Start Headwater on copies of whole projects and tell what becomes of each.

    python -m tests.conformance.projects DIR... [--json FILE] [--keep]

A DIR is a folder with `supabase/` in it, or the supabase folder itself; `tests/projects/*` are ten of our own. One after
the other each is copied, started by the command that users type, asked, ended and removed:

    migrations   all applied, roles before them        graphql     introspection, then the first row of each collection
    seeds        all ran                               functions   each boots: any answer but BOOT_ERROR, 503, unknown
    rest         every relation of the exposed         storage     the buckets of config.toml and of the migrations,
                 schemas readable by the service key               with the files of their folders

A failure is shown with its place: file, statement and line; path; function. A relation that the project itself withholds
from `service_role` counts as looked at. Where a folder has `.env.example` and no `.env`, that is copied as a newcomer would;
variables of this process win over it. At the end stands a table; a number is how many there were. `--json` writes all
of it, `--keep` leaves the copies with their data folders. The exit status is 0 if all projects are clean, 1 if one is
not, 2 if a DIR is no project.
"""

import argparse
import contextlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psycopg

from services.supervisor.errors import StartRefused
from tests.conformance.projects import checks
from tests.conformance.projects.folder import Copy, NoProject, copied, find
from tests.conformance.projects.report import Check, Failure, Outcome, outcome, table, told
from tests.platform import Platform, headwater

_PLACE = re.compile(r"^(\S+\.sql), (?:statement \d+, )?line \d+[^:]*: ")
_STEP = re.compile(r"ready after|is still starting|^Making a new|^Applied |^Ran |^Bucket |^Roles of ")


@dataclass(frozen=True, slots=True)
class Start:
    """How a start went: exit code, what went to standard error, and the platform if it runs."""

    code: int
    warnings: list[str]
    one: Platform | None


def main() -> int:
    """Run the projects; give the exit status."""
    options = _arguments()
    try:
        for folder in options.folders:
            find(folder)
    except NoProject as error:
        print(error, file=sys.stderr)
        return 2
    outcomes = []
    for folder in options.folders:
        outcomes.append(_run(folder, keep=options.keep))
        print(told(outcomes[-1]), flush=True)
    print(f"\n{table(outcomes)}")
    if options.json:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(outcomes)) + b"\n")
    return 0 if all(one.clean for one in outcomes) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcome of every check here")
    parser.add_argument("--keep", action="store_true", help="leave the copies and their data folders")
    return parser.parse_args()


def _run(folder: Path, *, keep: bool) -> Outcome:
    """Copy a project, start it, ask it, end it."""
    began = time.monotonic()
    place = Path(tempfile.mkdtemp(prefix="headwater-project-"))
    name, _ = find(folder)
    try:
        try:
            with copied(folder, place) as copy, _started(copy, place / "data") as start:
                found, notes = _looked_at(copy, start)
        except StartRefused as error:
            found, notes = [Check("start", [], [Failure("settings", str(error))])], []
        seconds = time.monotonic() - began
        return outcome(name, str(folder), found, notes, seconds, str(place) if keep else None)
    finally:
        if not keep:
            shutil.rmtree(place, ignore_errors=True)


@contextlib.contextmanager
def _started(copy: Copy, data: Path) -> Iterator[Start]:
    """Start a platform on a copy, give how that went, stop it."""
    where = ("--data", str(data))
    try:
        try:
            done = headwater("start", "--detach", "--project", str(copy.root), "--port", "0", *where)
        except subprocess.TimeoutExpired as late:
            yield Start(1, [f"it did not start within {late.timeout:.0f} s"], None)
            return
        warnings = [line for line in done.stderr.splitlines() if not _STEP.search(line)]
        yield Start(done.returncode, warnings, None if done.returncode else _platform(data))
    finally:
        headwater("stop", *where)


def _platform(data: Path) -> Platform:
    values = json.loads(headwater("status", "-o", "json", "--data", str(data)).stdout)
    state = json.loads((data / "state.json").read_text())
    return Platform(data, int(values["API_URL"].rpartition(":")[2]), int(state["pid"]), values)


def _looked_at(copy: Copy, start: Start) -> tuple[list[Check], list[str]]:
    """Give the checks of a project that was started, or of how its start failed; and what it warned of."""
    if start.one is None:
        return [_failed_start("\n".join(start.warnings), start.code)], []
    failures = [_trouble(line) for line in start.warnings if line.startswith("[storage.buckets.")]
    notes = [line for line in start.warnings if line and not line.startswith("[storage.buckets.")]
    with psycopg.connect(start.one.values["DB_URL"], autocommit=True) as database:
        filled = checks.storage(copy, start.one, database)
        found = [
            Check("start"),
            checks.migrations(copy, database),
            checks.seeds(database),
            checks.rest(copy, start.one, database),
            checks.graphql(copy, start.one),
            checks.functions(copy, start.one),
            msgspec.structs.replace(filled, failures=[*failures, *filled.failures]),
        ]
    return found, notes


def _trouble(line: str) -> Failure:
    place, _, message = line.partition(": ")
    return Failure(place, message)


def _failed_start(text: str, code: int) -> Check:
    """Give the check that a failed start belongs to, by the file that it names."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if match := _PLACE.match(line):
            kind = "migrations" if "/migrations/" in match[1] or match[1].endswith("roles.sql") else "seeds"
            place = line[: match.end()].rstrip(": ")
            return Check(
                kind, [], [Failure(place, "\n".join([line[match.end() :], *lines[number + 1 :]]).strip())]
            )
    return Check("start", [], [Failure("headwater start", f"exit code {code}\n{text}".strip())])


if __name__ == "__main__":
    sys.exit(main())
