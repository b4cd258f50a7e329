"""Faults of all processes, as the edges know them: each process reports its own on `events.faults`.

A process that has faults repeats its report every two seconds, and sends one without faults when the last is over. So an
edge that starts later learns of them, and forgets those of a process that sends nothing for ten seconds: a process that
is gone has no faults: the pools that it served are missing instead.
"""

import asyncio
import time
from collections.abc import Callable

from broker.codec import Undecodable, decoder, encode
from broker.nats.connection import Connection, Subscription
from broker.nats.protocol import Message
from broker.observability.faults import FAULTS, LONGEST, MOST, Faults
from broker.observability.observe import member_name
from broker.subjects import FAULTS as SUBJECT
from schemas.faults import Fault, FaultReport

_EVERY_S = 2.0
_FORGOTTEN_S = 10.0
_MOST_MEMBERS = 256


_decode = decoder(FaultReport)


class FaultReporter:
    """Reports the faults of this process from `start` to `close`."""

    def __init__(self, connection: Connection, faults: Faults = FAULTS) -> None:
        self._connection, self._faults = connection, faults
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to report."""
        self._faults.on_change.append(self._report)
        if self._faults.present:
            self._report()

    async def close(self) -> None:
        """Report no more."""
        if self._report in self._faults.on_change:
            self._faults.on_change.remove(self._report)
        if self._timer is not None:
            self._timer.cancel()

    def _report(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        present = self._faults.present
        self._connection.tell(SUBJECT.name, encode(FaultReport(member_name(), present)))
        if present:
            self._timer = asyncio.get_running_loop().call_later(_EVERY_S, self._report)


class KnownFaults:
    """The faults of all processes, as they were reported last."""

    def __init__(self, connection: Connection, clock: Callable[[], float] = time.monotonic) -> None:
        self._connection, self._clock = connection, clock
        self._members: dict[str, tuple[float, list[Fault]]] = {}
        self._subscription: Subscription | None = None

    def start(self) -> None:
        """Begin to listen."""
        self._subscription = self._connection.subscribe(SUBJECT.name, self._take)

    @property
    def reasons(self) -> dict[str, str]:
        """Why parts do not work, by their names; empty where all work."""
        oldest = self._clock() - _FORGOTTEN_S
        self._members = {name: known for name, known in self._members.items() if known[0] >= oldest}
        return {fault.part: fault.reason for _, faults in self._members.values() for fault in faults}

    def _take(self, message: Message) -> None:
        try:
            report = _decode(message.payload)
        except Undecodable:
            return
        self._members.pop(report.member, None)
        if report.faults and len(report.member) <= LONGEST and len(self._members) < _MOST_MEMBERS:
            self._members[report.member] = (self._clock(), [_bounded(each) for each in report.faults[:MOST]])


def _bounded(fault: Fault) -> Fault:
    """Return a fault in the length that our own processes keep to: a report may come from whoever holds a worker's password."""
    return Fault(fault.part[:LONGEST], fault.reason[:LONGEST], fault.is_sticky)
