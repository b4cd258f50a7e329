"""Which fault comes when, and for how long (pure): a seed and a number of minutes say all of it.

Kinds are dealt like cards: each comes once before any comes a second time, in an order that the seed shuffles.
"""

import random
from dataclasses import dataclass

OURS = ("edges", "pools", "changes", "images", "functions", "streams")
"""Processes of ours, by the names that `headwater status` shows."""

WIPED = "wiped broker store"
"""All that the broker keeps is lost: what waits in it is gone, and that is reported."""
CALM_S = 15.0
"""How long nothing is harmed at the beginning: what a row of the table is compared with."""
_SHORTEST_REST_S, _LONGEST_REST_S = 8.0, 14.0
_HANG_S = 14.0
"""Longer than the ten seconds after which a process without a sign of life is replaced."""


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault: what is done (`faults.py`) to what, and for how long."""

    action: str
    target: str = ""
    lasts_s: tuple[float, float] = (0.0, 0.0)
    """Least and most; the seed chooses."""

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.action} {self.target}".strip()


KINDS = (
    *(FaultKind("kill", name) for name in (*OURS, "nats", "postgres", "backend", "everything")),
    *(FaultKind("stop", name, (1.0, 5.0)) for name in (*OURS, "nats", "postgres", "backend")),
    *(FaultKind("hang", name, (_HANG_S, _HANG_S)) for name in ("pools", "changes", "edges")),
    FaultKind("restart", "nats"),
    FaultKind("restart", "postgres"),
    FaultKind("full disk", "", (5.0, 10.0)),
    FaultKind(WIPED),
    FaultKind("lost slot"),
)


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """A fault to come: `at_s` seconds after the traffic began, over `lasts_s` seconds later."""

    at_s: float
    kind: FaultKind
    lasts_s: float


def planned_faults(seed: int, minutes: float, kinds: tuple[FaultKind, ...] = KINDS) -> list[PlannedFault]:
    """Return the faults of a campaign in their order; those that would end too late are left out."""
    chance = random.Random(seed)
    faults: list[PlannedFault] = []
    at_s, deck = CALM_S, list[FaultKind]()
    while True:
        if not deck:
            deck = list(kinds)
            chance.shuffle(deck)
        kind = deck.pop()
        lasts_s = chance.uniform(*kind.lasts_s)
        rest_s = chance.uniform(_SHORTEST_REST_S, _LONGEST_REST_S)
        if at_s + lasts_s + rest_s > minutes * 60:
            return faults
        faults.append(PlannedFault(round(at_s, 2), kind, round(lasts_s, 2)))
        at_s += lasts_s + rest_s


def one_of_each(kinds: tuple[FaultKind, ...], rest_s: float) -> list[PlannedFault]:
    """Return one fault of each kind, in this order, each lasting as short as it may."""
    faults, at_s = list[PlannedFault](), rest_s
    for kind in kinds:
        faults.append(PlannedFault(at_s, kind, kind.lasts_s[0]))
        at_s += kind.lasts_s[0] + rest_s
    return faults
