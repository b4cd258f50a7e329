"""Findings about drains of log lines (pure)."""

from collections.abc import Sequence

from msgspec import Struct

from services.doctor.finding import DoctorFinding, FindingLevel

_TITLE = "log drains"


class LogDrainFacts(Struct, frozen=True):
    """The state of a drain: the last error while it fails, empty if it does not; messages that were lost, lines that were rejected."""

    drain: str
    error: str
    lost: int
    rejected: int


def drain_findings(drains: Sequence[LogDrainFacts]) -> list[DoctorFinding]:
    """Return the findings; none if there are no drains."""
    faults = [finding for drain in drains if (finding := _finding(drain)) is not None]
    if faults or not drains:
        return faults
    return [DoctorFinding(_TITLE, FindingLevel.OK, f"{len(drains)} send{'s' if len(drains) == 1 else ''}")]


def _finding(drain: LogDrainFacts) -> DoctorFinding | None:
    if drain.error:
        text = f"the receiver of {drain.drain} takes nothing: {drain.error}"
        return DoctorFinding(
            _TITLE,
            FindingLevel.WARNING,
            text,
            "Lines wait for a day, and in log.store.queue_size; mend the receiver.",
        )
    if drain.lost or drain.rejected:
        text = f"{drain.drain} has lost {drain.lost} messages of lines, and its receiver rejected {drain.rejected} lines"
        return DoctorFinding(_TITLE, FindingLevel.WARNING, text, "`headwater logs` has what was kept.")
    return None
