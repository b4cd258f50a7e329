"""The calls of one process that wait for a pool: sent by `broker/requests/call.py`, watched by `broker/requests/pool_tracker.py`."""

import asyncio
import random
from collections.abc import Callable

from msgspec import Struct

from broker import subjects
from broker.nats.protocol import NO_RESPONDERS, NatsMessage
from broker.requests.roll_call import MemberRoll
from schemas.errors import DeadlineExceeded, OutcomeUnknown, Unavailable


class RequestUndelivered(Unavailable):
    """The request reached no worker."""


class OpenCall(Struct, eq=False):
    """One request that waits for its reply: `payload` or `error` is set when it is settled, then `on_settled` is called.

    Deadlines are watched by the ticks of the pool tracker: a timer for each call costs more than sending it.
    """

    id: str
    caller_key: str
    pool: "PoolCalls"
    budget_ms: int
    sent_at: float
    expires_at: float
    on_settled: "Callable[[OpenCall], None]"
    is_repeatable: bool = False
    """Whether the request may be sent again when its answer is lost."""
    is_settled: bool = False
    payload: bytes = b""
    error: BaseException | None = None
    reply: str = ""
    why: str = ""

    def take(self, message: NatsMessage) -> None:
        """Settle the call by the reply, by NATS itself (no responders), or by the loss of the connection."""
        if self.is_settled:
            return
        if message.status == 0:
            self.payload = message.payload
            self.is_settled = True
            self.on_settled(self)
        elif message.status == NO_RESPONDERS:
            self.fail("no worker", RequestUndelivered(f"no {self.pool.name} worker is running"))
        else:
            self.fail("disconnected", OutcomeUnknown("the connection to the broker was lost"))

    def expire(self) -> None:
        """Fail the call because its time budget is over."""
        self.fail("deadline", DeadlineExceeded(f"no answer within {self.budget_ms / 1000:g} s"))

    def fail(self, why: str, error: BaseException) -> None:
        """Fail the call, unless it is settled; `why` is the reason in the metrics."""
        if not self.is_settled:
            self.why = why
            self.error = error
            self.is_settled = True
            self.on_settled(self)


class PoolCalls:
    """One pool as one process sees it: its calls in flight by reply subject, oldest first, and its members."""

    __slots__ = (
        "back", "by_caller", "by_name", "calls", "first_heard", "held", "is_known", "missing_since", "name", "probe", "roll",
    )  # fmt: skip

    def __init__(self, name: str, now: float, *, is_known: bool) -> None:
        self.name = name
        self.calls: dict[str, OpenCall] = {}
        self.by_caller: dict[str, int] = {}
        """The number of calls of each caller key."""
        self.held = 0
        """Requests that wait for a worker to come back."""
        self.roll = MemberRoll(now)
        self.first_heard: dict[str, float] = {}
        """When each member was first heard, in time of the event loop."""
        self.probe = subjects.probe(name)
        self.is_known = is_known
        """Whether a member has been heard at any time since the process started."""
        self.back = asyncio.Event()
        """Set when a member is heard; a request that waits for that clears it first."""
        self.missing_since: float | None = None
        """Since when the pool is without a member; None while it has one."""
        self.by_name: list[str] = []
        """Members that requests are addressed to by name while another one is silent, or gone without NATS' knowledge; else empty."""

    def remove_member(self, member: str) -> list[str]:
        """Remove a member that is gone; return the repeatable calls that none of the present members can have taken.

        These are the calls that were sent before the oldest present member was first heard; without a member, all
        calls. A member that took one before it was heard may still answer it. Then the read is done twice, which
        changes nothing.
        """
        self.first_heard.pop(member, None)
        oldest = min(self.first_heard.values(), default=float("inf"))
        return [reply for reply, call in self.calls.items() if call.is_repeatable and call.sent_at < oldest]

    def add(self, call: OpenCall) -> None:
        """Add a call that is about to be sent."""
        self.calls[call.reply] = call
        self.by_caller[call.caller_key] = self.by_caller.get(call.caller_key, 0) + 1

    def remove(self, call: OpenCall) -> None:
        """Remove a call that is over."""
        if self.calls.pop(call.reply, None) is None:
            return
        left = self.by_caller[call.caller_key] - 1
        if left:
            self.by_caller[call.caller_key] = left
        else:
            del self.by_caller[call.caller_key]

    def others(self, member: str, now: float) -> list[str]:
        """Return the members that can take a request which this one did not start."""
        return [name for name in self.roll.answering(now) if name != member]

    def target(self, subject: str) -> str:
        """Return the subject to publish a request on."""
        return subjects.member(random.choice(self.by_name)) if self.by_name else subject
