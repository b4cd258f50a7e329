"""Build the most hostile database that a tenant can make: overloads of all that the platform calls, and probes in everything else."""

from dataclasses import dataclass
from pathlib import Path

from tests.attacks.platform_sql import Call, collect
from tests.attacks.probe import Probe, run_sql
from tests.attacks.server_catalog import catalog_statement, read_catalog

_HERE = Path(__file__).parent
_FULL = ("public",)
_FEW = ("supabase_admin", "extensions", "auth", "storage", "realtime", "supabase_functions")
"""Schemas with all overloads that win on every path; and those with the few that have no long list of types."""


@dataclass(frozen=True, slots=True)
class PlantedObjects:
    """What was planted: overloads a schema, and things a kind; `refused` is what the server did not take."""

    overloads: dict[str, int]
    things: dict[str, int]
    refused: list[str]


def plant(probe: Probe) -> PlantedObjects:
    """Plant everything, as role postgres."""
    url = probe.target.values["DB_URL"]
    probe.plant()
    calls = collect(read_catalog(run_sql(url, catalog_statement()).stdout)).calls
    rows = "\n".join(sorted(map(_row, calls)))
    run_sql(
        url,
        f"{script(probe, 'hostile_overloads.sql')}\ncopy {probe.schema}.wanted from stdin;\n{rows}\n\\.\ncall {probe.schema}.resolve()",
    )
    made = {}
    places = {probe.schema: "all", **dict.fromkeys(_FULL, "winning"), **dict.fromkeys(_FEW, "few")}
    for place, kinds in places.items():
        run_sql(url, f"create schema if not exists {place}", check=False)
        made[place] = int(run_sql(url, f"select {probe.schema}.spread('{place}', '{kinds}')").stdout)
    run_sql(url, script(probe, "hostile_schema.sql"))
    counted = run_sql(
        url, f"select kind, count(*) from {probe.schema}.planted where failure is null group by kind"
    ).stdout
    refused = run_sql(
        url,
        f"select kind, left(statement, 120), failure from {probe.schema}.planted where failure is not null",
    ).stdout
    things = {kind: int(count) for kind, _, count in (line.partition("|") for line in counted.splitlines())}
    return PlantedObjects(made, things, refused.splitlines())


def script(probe: Probe, name: str) -> str:
    """Return the text of a script beside this module, for a probe."""
    return (_HERE / name).read_text().replace("PROBE", probe.schema).replace("EVIDENCE", str(probe.evidence))


def _row(call: Call) -> str:
    """Write a call as a line of COPY."""
    types = ",".join('"' + one.replace('"', '\\"') + '"' for one in call.arguments)
    return "\t".join(
        part.replace("\\", "\\\\") for part in (call.name, "{" + types + "}", "tf"[not call.is_operator])
    )
