"""Findings about tables that are copied to other systems (pure)."""

from collections.abc import Sequence

from msgspec import Struct

from services.doctor.finding import DoctorFinding, FindingLevel

_TITLE = "streams"
_CURES = {
    "away": "Nothing of the platform waits for it. Mend the target: what left the stream of changes meanwhile is made up for by a snapshot.",
    "rejected": "Correct [streams] of config.toml, or the table; the table is looked at again every minute.",
}


class StreamFacts(Struct, frozen=True):
    """A table of a stream. `state`: waiting, snapshot, following, away, rejected or paused; `problem` and since when, empty without one."""

    stream: str
    table: str
    state: str
    problem: str
    since: str


def stream_findings(tables: Sequence[StreamFacts]) -> list[DoctorFinding]:
    """Return the findings; none if there are no streams."""
    faults = [
        DoctorFinding(
            _TITLE,
            FindingLevel.WARNING,
            f"{table.stream} does not copy {table.table} since {table.since} UTC: {table.problem}",
            _CURES[table.state],
        )
        for table in tables
        if table.state in _CURES
    ]
    faults += [
        DoctorFinding(
            _TITLE,
            FindingLevel.WARNING,
            f"{table.stream} is paused: {table.table} is not copied",
            f"`headwater streams resume {table.stream}` goes on; what left the stream of changes meanwhile is made up for by a snapshot.",
        )
        for table in tables
        if table.state == "paused"
    ]
    if faults or not tables:
        return faults
    return [
        DoctorFinding(_TITLE, FindingLevel.OK, f"{len(tables)} table{'' if len(tables) == 1 else 's'} copied")
    ]
