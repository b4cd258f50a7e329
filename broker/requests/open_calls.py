"""What an edge knows of the calls that wait for one pool (`broker/requests/call.py` sends them and judges them)."""

import asyncio
import random

from broker import subjects
from broker.nats.protocol import NO_RESPONDERS, Message
from broker.requests.roll_call import Roll
from schemas.errors import DeadlineExceeded, OutcomeUnknown, Unavailable
from schemas.http import Request


class NotTaken(Unavailable):
    """The request reached no worker."""


class OpenCall:
    """One request that waits for its reply."""

    __slots__ = (
        "budget_ms", "caller_key", "future", "id", "is_repeatable", "pool", "reply", "sent_at", "timer", "why",
    )  # fmt: skip

    def __init__(self, request: Request, pool: "PoolCalls", loop: asyncio.AbstractEventLoop) -> None:
        self.id = request.id
        self.caller_key = request.caller_key
        self.pool = pool
        self.budget_ms = request.budget_ms
        self.future: asyncio.Future[bytes] = loop.create_future()
        self.sent_at = loop.time()
        self.timer = loop.call_later(request.budget_ms / 1000, self.expire)
        self.reply = ""
        self.why = ""
        self.is_repeatable = False
        """Whether the request may be sent again when its answer is lost."""

    def take(self, message: Message) -> None:
        if self.future.done():
            return
        if message.status == 0:
            self.future.set_result(message.payload)
        elif message.status == NO_RESPONDERS:
            self.fail("no worker", NotTaken(f"no {self.pool.name} worker is running"))
        else:
            self.fail("disconnected", OutcomeUnknown("the connection to the broker was lost"))

    def expire(self) -> None:
        self.fail("deadline", DeadlineExceeded(f"no answer within {self.budget_ms / 1000:g} s"))

    def fail(self, why: str, error: BaseException) -> None:
        if not self.future.done():
            self.why = why
            self.future.set_exception(error)


class PoolCalls:
    """A pool as one door sees it: its calls in flight by their reply subject, oldest first, and its roll."""

    __slots__ = (
        "back", "by_caller", "by_name", "calls", "heard_since", "held", "is_known", "missing_since", "name", "probe", "roll",
    )  # fmt: skip

    def __init__(self, name: str, now: float, *, is_known: bool) -> None:
        self.name = name
        self.calls: dict[str, OpenCall] = {}
        self.by_caller: dict[str, int] = {}
        """How many of the calls are of which caller."""
        self.held = 0
        """Requests that wait for a worker to come back."""
        self.roll = Roll(now)
        self.heard_since: dict[str, float] = {}
        """When each member was heard first."""
        self.probe = subjects.probe(name)
        self.is_known = is_known
        """Whether a member has ever been heard."""
        self.back = asyncio.Event()
        """Set when a member is heard; cleared by who waits for that."""
        self.missing_since: float | None = None
        self.by_name: list[str] = []
        """Members to whom requests go by name, while another one is silent."""

    def left_by(self, member: str) -> list[str]:
        """Forget a member that is gone; return the repeatable calls that no member of now can have taken.

        These are the calls that were sent before the oldest of the members was heard first, all calls if there is no member. A
        member that took one and was not heard may still answer it: then the read is done twice, which changes nothing.
        """
        self.heard_since.pop(member, None)
        oldest = min(self.heard_since.values(), default=float("inf"))
        return [reply for reply, call in self.calls.items() if call.is_repeatable and call.sent_at < oldest]

    def add(self, call: OpenCall) -> None:
        """Note a call that is sent."""
        self.calls[call.reply] = call
        self.by_caller[call.caller_key] = self.by_caller.get(call.caller_key, 0) + 1

    def remove(self, call: OpenCall) -> None:
        """Note that a call is over."""
        if self.calls.pop(call.reply, None) is None:
            return
        left = self.by_caller[call.caller_key] - 1
        if left:
            self.by_caller[call.caller_key] = left
        else:
            del self.by_caller[call.caller_key]

    def others(self, member: str, now: float) -> list[str]:
        """Return the members that may take a request that this one did not begin."""
        return [each for each in self.roll.answering(now) if each != member]

    def target(self, subject: str) -> str:
        """Return the subject to publish a request on."""
        return subjects.member(random.choice(self.by_name)) if self.by_name else subject
