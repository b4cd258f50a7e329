"""Define the faults that processes report to the supervisor and to the edges."""

from msgspec import Struct


class Fault(Struct, frozen=True, array_like=True):
    """A part that does not work. `is_sticky`: it needs a restart when its cause is over."""

    part: str
    reason: str
    is_sticky: bool = False


class FaultReport(Struct, frozen=True):
    """The faults of one process. `member`: its host and process id."""

    member: str
    faults: list[Fault]
