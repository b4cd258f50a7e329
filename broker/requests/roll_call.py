"""The roll call of a pool (pure): which calls are lost because the member that took them is gone.

A request goes to one member of a queue group, and nobody is told which. On the hot path that stays so: no message
but the request and the reply. Only for calls that are slow (`broker/requests/call.py`: older than a tick) the asker calls the
roll at every tick:

- to all members: "which of these do you hold?" (`probe.<pool>`). A living member answers with those it holds, in
  work or waiting. From one asker to one member messages keep their order, so a member that denies a call has never
  got it, has answered it already (then the answer is here before the denial), or has given it up.
- to each member known, on its own subject: nothing, but with an inbox for the reply. Nobody answers; only NATS
  does, at once, when nobody listens there any more: that member's connection is closed, its process gone.

From that follows the verdict. A call is lost when the member that claimed it is gone: at once. Or when, in two
rounds one after the other, every known member has answered and none claims it. A member that is connected and answers no
question for `SILENT_S` counts as silent: its event loop hangs, its process was stopped (SIGSTOP), or its machine has lost
power and NATS has not noticed yet. The calls it claimed are lost, and rounds are decided without it. It may still carry
such a call out when it goes on, so whether a lost call was carried out is not known.

So a false alarm needs a member that took the call, is slow to answer, and is not known yet. Members announce themselves
before they listen for requests, so that is only possible in the first second of a new asker, while busy members have not
answered its first question; within that second no call is given up for want of a claim.
"""

from msgspec import Struct

SETTLE_S = 1.0
"""How long a new asker waits for members to make themselves known."""
LEAVING = -1
SILENT_S = 1.5
"""A member that has answered no question for so long is not waited for any more."""
_STRIKES = 2


class Question(Struct, frozen=True, array_like=True):
    """Asks every member of a pool which of these calls it holds; a call is the inbox its reply goes to."""

    round: int
    calls: list[str]


class Holding(Struct, frozen=True, array_like=True):
    """A member's answer: those of the calls asked about that it holds.

    In round 0 it announces itself, in round `LEAVING` it announces that it takes no more requests.
    """

    pool: str
    member: str
    round: int
    calls: list[str]


class Roll:
    """What one asker knows of the members of one pool. `since` is the time of its first question."""

    __slots__ = (
        "_answered", "_asked", "_claims", "_round", "_silent_since", "_since", "_strikes", "leaving", "members",
    )  # fmt: skip

    def __init__(self, since: float) -> None:
        self.members: set[str] = set()
        self.leaving: set[str] = set()
        """Members that finish what they hold and take nothing more."""
        self._silent_since: dict[str, float] = {}
        self._since = since
        self._round = 0
        self._asked: set[str] = set()
        self._answered: set[str] = set()
        self._claims: dict[str, str] = {}
        self._strikes: dict[str, int] = {}

    def ask(self, calls: list[str]) -> Question:
        """Begin a round about these calls. What is not asked about any more is forgotten."""
        self._round += 1
        self._asked = set(calls)
        self._answered = set()
        for known in (self._claims, self._strikes):
            for call in known.keys() - self._asked:
                del known[call]
        return Question(self._round, calls)

    def heard(self, holding: Holding) -> None:
        """Note the answer of a member. One to an earlier question says nothing about the calls of this one."""
        member = holding.member
        self.members.add(member)
        self._silent_since.pop(member, None)
        if holding.round == LEAVING:
            self.leaving.add(member)
            return
        if holding.round != self._round:
            return
        self._answered.add(member)
        for call in [call for call, holder in self._claims.items() if holder == member]:
            del self._claims[call]
        for call in holding.calls:
            self._claims[call] = member
            self._strikes.pop(call, None)

    def gone(self, member: str) -> list[str]:
        """Note that a member is gone; give the calls it held: they are lost."""
        self.members.discard(member)
        self.leaving.discard(member)
        self._silent_since.pop(member, None)
        lost = [call for call, holder in self._claims.items() if holder == member]
        for call in lost:
            del self._claims[call]
        return lost

    def close(self, now: float) -> list[str]:
        """End the round; return the calls that no member holds, as far as that is certain, and those of silent members."""
        for member in self.members - self._answered:
            self._silent_since.setdefault(member, now)
        silent = self.silent(now)
        if now - self._since < SETTLE_S or not self.members - silent <= self._answered:
            return []
        lost = []
        for call in self._asked:
            holder = self._claims.get(call)
            if holder in silent:
                del self._claims[call]
                lost.append(call)
            elif holder is None:
                self._strikes[call] = self._strikes.get(call, 0) + 1
                if self._strikes[call] >= _STRIKES:
                    lost.append(call)
        return lost

    def silent(self, now: float) -> set[str]:
        """Return the members that have answered no question for `SILENT_S`."""
        if not self._silent_since:
            return set()
        return {member for member, since in self._silent_since.items() if now - since >= SILENT_S}

    def answering(self, now: float) -> list[str]:
        """Return the members that can be given a request by name: they answer, and they are not leaving."""
        return sorted(self.members - self.leaving - self.silent(now))
