"""Findings about tables whose rows have a history (pure)."""

from collections.abc import Sequence

from msgspec import Struct

from services.doctor.finding import DoctorFinding, FindingLevel

_TITLE = "history"


class HistoryFacts(Struct, frozen=True):
    """A table with history. `gap`: why versions may be missing, the last time that happened; empty if none are."""

    table: str
    gap: str = ""
    gap_at: str = ""


def history_findings(tables: Sequence[HistoryFacts]) -> list[DoctorFinding]:
    """Return the findings; none if no table has a history."""
    cure = "`headwater history list` names all gaps. Versions of before and after are whole; a longer realtime.retention bridges longer outages."
    faults = [
        DoctorFinding(
            _TITLE,
            FindingLevel.WARNING,
            f"versions of {table.table} may be missing since {table.gap_at} UTC: {table.gap}",
            cure,
        )
        for table in tables
        if table.gap
    ]
    if faults or not tables:
        return faults
    return [DoctorFinding(_TITLE, FindingLevel.OK, f"{len(tables)} tables")]
