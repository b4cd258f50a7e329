"""How long a part may take to start: longer on a machine that is busy (pure, but for the look at the machine)."""

import os
from dataclasses import dataclass

_MOST = 10.0
"""The limit grows to at most this many times."""


@dataclass(frozen=True, slots=True)
class StartLimit:
    """A limit in seconds, and why it is longer than usual; empty if it is not."""

    seconds: float
    reason: str = ""


def grown_limit(usual_s: float, load: float, cores: int) -> StartLimit:
    """Return the limit on a machine with this load (the average number of processes that want to run) and these cores."""
    times = min(load / max(cores, 1), _MOST)
    if times <= 1:
        return StartLimit(usual_s)
    return StartLimit(
        usual_s * times,
        f"{times:.1f} times the usual {usual_s:g} s, because the machine has a load of {load:.1f} on {cores} cores",
    )


def present_limit(usual_s: float) -> StartLimit:
    """Return the limit on this machine as busy as it is now."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return grown_limit(usual_s, load, os.cpu_count() or 1)
