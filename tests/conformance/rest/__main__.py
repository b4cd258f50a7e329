"""Run the REST conformance cases: a platform for each profile, on a fresh database with the fixtures in it.

    python -m tests.conformance.rest [--cases FILE] [--profiles FILE] [--fixtures DIR] [--runner FILE] [--json OUT] [--profile NAME]

Prints the score by spec file and `REST conformance: P/T`. The exit status is 0 when the run took place, whatever the score.
"""

import argparse
import asyncio
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import asyncpg
import msgspec

from tests.conformance.rest.profiles import environment_of
from tests.platform import platform
from tests.workers.database.introspection_fixtures import as_role, in_database
from tests.workers.database.own_server import OwnServer, own_server

DEFAULT = Path(__file__).resolve().parents[4] / "shared" / "conformance" / "rest"
LOGIN, PASSWORD = "postgrest_test_authenticator", "authenticator"


Case = dict[str, Any]


class Outcome(msgspec.Struct):
    """What the runner tells of one profile: by spec file how many passed of how many, and what failed and why."""

    profile: str
    passed: int
    total: int
    specs: dict[str, tuple[int, int]]
    failed: list[dict[str, object]]


def main() -> int:
    """Run the cases; 2 when they cannot be run."""
    options = _arguments()
    missing = [
        path
        for path in (options.cases, options.profiles, options.fixtures, options.runner)
        if not path.exists()
    ]
    if missing:
        print(f"not there: {', '.join(map(str, missing))}", file=sys.stderr)
        return 2
    results = asyncio.run(_run(options))
    _show(results)
    if options.json:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(results)))
    return 0


async def _run(options: argparse.Namespace) -> list[Outcome]:
    """Run every profile that has cases, one after the other, on one database server."""
    profiles = json.loads(options.profiles.read_text())
    names = dict.fromkeys(case["profile"] for case in json.loads(options.cases.read_text()))
    results = []
    with tempfile.TemporaryDirectory(prefix="headwater-conformance-") as folder:
        async with own_server(max_connections="100") as server:
            for name in names:
                if options.profile in (None, name):
                    results.append(await _run_profile(server, name, profiles, options, Path(folder)))
    return results


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=Path, default=DEFAULT / "cases.json")
    parser.add_argument(
        "--profiles", type=Path, help="default: profiles.json beside the cases, or of the default folder"
    )
    parser.add_argument(
        "--fixtures", type=Path, help="folder of .sql files; default: fixtures beside the cases"
    )
    parser.add_argument(
        "--runner", type=Path, default=DEFAULT / "run.py", help="sends the cases of one profile"
    )
    parser.add_argument("--json", type=Path, help="write every result here")
    parser.add_argument("--profile", help="run only this one")
    options = parser.parse_args()
    for name, default in (("profiles", "profiles.json"), ("fixtures", "fixtures")):
        if getattr(options, name) is None:
            beside = options.cases.parent / default
            setattr(options, name, beside if beside.exists() else DEFAULT / default)
    return options


async def _run_profile(
    server: OwnServer,
    name: str,
    profiles: dict[str, dict[str, dict[str, dict[str, object]]]],
    options: argparse.Namespace,
    folder: Path,
) -> Outcome:
    """Start a platform with a profile's options and send it the profile's cases."""
    chosen = {**profiles["base"], **profiles["profiles"][name]["overrides"]}
    database = f"conformance_{name.replace('-', '_')}"
    cases = [case for case in json.loads(options.cases.read_text()) if case["profile"] == name]
    await _load(server.url, database, options.fixtures, _estimated(cases))
    environment = environment_of(chosen) | {
        "HEADWATER_DB_BOOTSTRAP": "false",
        "HEADWATER_DB_AUTHENTICATOR": LOGIN,
        "HEADWATER_DB_AUTHENTICATOR_PASSWORD": PASSWORD,
    }
    url = in_database(as_role(server.url, LOGIN, PASSWORD), database)
    out = folder / f"{name}.json"
    parts = ("--edge", "gateway", "--pool", "rest")
    with platform("--database-url", url, *parts, environment=environment) as one:
        subprocess.run(
            [
                sys.executable, str(options.runner), "--base-url", f"{one.url}/rest/v1", "--cases", str(options.cases),
                "--profile", name, "--apikey", one.values["ANON_KEY"], "--json-out", str(out),
            ],
            check=True, stdout=subprocess.DEVNULL, timeout=600,
        )  # fmt: skip
    return msgspec.json.decode(out.read_bytes(), type=Outcome)


def _estimated(cases: list[Case]) -> set[str]:
    """Name the relations whose planned count is asked for: the originals analyse them first."""
    return {
        step["path"].partition("?")[0].strip("/")
        for case in cases
        for step in case["steps"]
        if any(value in ("count=planned", "count=estimated") for _, value in step["headers"])
    }


async def _load(url: str, database: str, fixtures: Path, estimated: set[str]) -> None:
    """Make a fresh database and run the fixtures in it, each file as one script."""
    admin = await asyncpg.connect(url)
    await admin.execute(f'create database "{database}"')
    await admin.close()
    connection = await asyncpg.connect(in_database(url, database))
    for file in sorted(fixtures.glob("*.sql")):
        await connection.execute(file.read_text())
    await connection.execute("reset search_path")
    tables = await connection.fetch(
        "select oid::regclass::text as name from pg_class where relname = any($1) and relkind = 'r'",
        list(estimated),
    )
    for table in tables:
        await connection.execute(f"analyze {table['name']}")
    await connection.close()


def _show(results: list[Outcome]) -> None:
    passed: collections.Counter[str] = collections.Counter()
    total: collections.Counter[str] = collections.Counter()
    for result in results:
        for spec, (good, count) in result.specs.items():
            passed[spec] += good
            total[spec] += count
    for spec in sorted(total):
        print(f"{spec:45}{passed[spec]:5}/{total[spec]}")
    print(f"REST conformance: {sum(passed.values())}/{sum(total.values())}")


if __name__ == "__main__":
    sys.exit(main())
