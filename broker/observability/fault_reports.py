"""Report the faults of this process on `events.faults`, and collect those of all processes for the edges.

A process with faults repeats its report every two seconds, and sends one without faults when the last is over. So an
edge that starts later receives them. An edge drops the faults of a process that sends nothing for ten seconds: the
process is gone, and the pools that it served are reported as missing instead.
"""

import asyncio
import time
from collections.abc import Callable

from broker.codec import InvalidMessage, decoder, encode
from broker.nats.connection import NatsConnection
from broker.nats.protocol import NatsMessage
from broker.nats.subscription import NatsSubscription
from broker.observability.faults import FAULTS, LONGEST, MOST, Faults
from broker.observability.observe import member_name
from broker.subjects import FAULTS as SUBJECT
from schemas.faults import Fault, FaultReport

_EVERY_S = 2.0
_EXPIRES_S = 10.0
_MOST_MEMBERS = 256


_decode = decoder(FaultReport)


class FaultReporter:
    """Reports the faults of this process from `start` to `close`."""

    def __init__(self, connection: NatsConnection, faults: Faults = FAULTS) -> None:
        self._connection, self._faults = connection, faults
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start to report."""
        self._faults.on_change.append(self._report)
        if self._faults.present:
            self._report()

    async def close(self) -> None:
        """Stop reporting."""
        if self._report in self._faults.on_change:
            self._faults.on_change.remove(self._report)
        if self._timer is not None:
            self._timer.cancel()

    def _report(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        present = self._faults.present
        self._connection.try_publish(SUBJECT.name, encode(FaultReport(member_name(), present)))
        if present:
            self._timer = asyncio.get_running_loop().call_later(_EVERY_S, self._report)


class FaultCollector:
    """The latest reported faults of all processes."""

    def __init__(self, connection: NatsConnection, clock: Callable[[], float] = time.monotonic) -> None:
        self._connection, self._clock = connection, clock
        self._members: dict[str, tuple[float, list[Fault]]] = {}
        self._subscription: NatsSubscription | None = None

    def start(self) -> None:
        """Subscribe to the reports."""
        self._subscription = self._connection.subscribe(SUBJECT.name, self._take)

    @property
    def reasons(self) -> dict[str, str]:
        """The reasons of the present faults by part; empty when everything works."""
        oldest = self._clock() - _EXPIRES_S
        self._members = {name: entry for name, entry in self._members.items() if entry[0] >= oldest}
        return {fault.part: fault.reason for _, faults in self._members.values() for fault in faults}

    def _take(self, message: NatsMessage) -> None:
        try:
            report = _decode(message.payload)
        except InvalidMessage:
            return
        self._members.pop(report.member, None)
        if report.faults and len(report.member) <= LONGEST and len(self._members) < _MOST_MEMBERS:
            self._members[report.member] = (
                self._clock(),
                [_bounded(fault) for fault in report.faults[:MOST]],
            )


def _bounded(fault: Fault) -> Fault:
    """Return a fault cut to the usual length: a report may come from any client with a worker's password."""
    return Fault(fault.part[:LONGEST], fault.reason[:LONGEST], fault.is_sticky)
