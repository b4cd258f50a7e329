"""A fault of a part of the platform, as processes report it to the supervisor and to the edges."""

from msgspec import Struct


class Fault(Struct, frozen=True, array_like=True):
    """A part that does not work. `is_sticky`: it does not heal by itself when its cause is over."""

    part: str
    reason: str
    is_sticky: bool = False


class FaultReport(Struct, frozen=True):
    """The faults of one process, which its host and process id name."""

    member: str
    faults: list[Fault]
