"""The roll call of a pool (pure): which calls are lost because the member that took them is gone.

NATS delivers a request to one member of a queue group and does not report to which. The hot path therefore consists
of two messages, the request and the reply. Only for calls that are slow (`broker/requests/pool_tracker.py`: older
than a tick) the caller runs a roll call at every tick. It sends

- to all members (`probe.<pool>`) the list of its slow calls. A living member replies with those that it holds,
  running or queued. NATS keeps the order of messages between two processes. So a member that does not list a call
  never received it, has answered it already (then the answer arrived before this reply), or has given it up.
- to each known member, on its own subject, an empty message with a reply subject. The member never answers it. NATS
  answers at once with "no responders" when the member's connection is closed, which means that its process is gone.

A call is lost at once when the member that claimed it is gone. It is also lost when in two consecutive rounds every
known member has replied and none claims it. A member that is connected and replies to no roll call for `SILENT_S`
counts as silent: its event loop hangs, its process was stopped (SIGSTOP), or its machine has lost power and NATS has
not noticed yet. The calls it claimed are lost, and rounds are decided without it. It may still carry out such a call
when it resumes, so whether a lost call was carried out is unknown.

A call that every known member disclaims was delivered to a connection which NATS believes to be open and which is not: its
machine lost power, or was cut off and has come back with new connections. NATS notices after `GHOST_S` at most and hands it
every second request until then, so for that long requests have to be addressed to members by name.

A false alarm would need a member that took the call, is slow, and is not known yet. Members announce themselves
before they subscribe to requests. So this can only happen in the first second of a new caller, while busy members
have not replied to its first roll call. Within that second (`SETTLE_S`) a call is not given up because it is
unclaimed.
"""

from msgspec import Struct

SETTLE_S = 1.0
"""How long a new caller waits until the members have announced themselves."""
LEAVING = -1
"""Round number of a member that takes no more requests."""
SILENT_S = 1.5
"""A member that has replied to no roll call for so long counts as silent."""
GHOST_S = 30.0
"""Three of the pings by which deploy/nats.conf has its server find connections that are dead."""
_STRIKES = 2
"""Rounds in which a call must be unclaimed before it is lost."""


class RollCallQuery(Struct, frozen=True, array_like=True):
    """The question to every member of a pool: which of these calls do you hold? A call is named by its reply subject."""

    round: int
    calls: list[str]


class RollCallReply(Struct, frozen=True, array_like=True):
    """A member's reply: those of the listed calls that it holds.

    In round 0 the member announces itself, in round `LEAVING` it announces that it takes no more requests.
    """

    pool: str
    member: str
    round: int
    calls: list[str]


class MemberRoll:
    """The members of one pool as one caller knows them, and the state of the current round. `since`: time of the first round."""

    __slots__ = (
        "_claims", "_ghost_until", "_is_asked", "_queried", "_replied", "_round", "_silent_since", "_since", "_strikes", "leaving",
        "members",
    )  # fmt: skip

    def __init__(self, since: float) -> None:
        self.members: set[str] = set()
        self.leaving: set[str] = set()
        """Members that finish what they hold and take no further requests."""
        self._silent_since: dict[str, float] = {}
        self._ghost_until = 0.0
        self._since = since
        self._round = 0
        self._is_asked = False
        self._queried: set[str] = set()
        self._replied: set[str] = set()
        self._claims: dict[str, str] = {}
        self._strikes: dict[str, int] = {}

    def start_round(self, calls: list[str], *, is_asked: bool = True) -> RollCallQuery:
        """Start a round about these calls. Claims and strikes of calls that are no longer listed are removed.

        `is_asked`: the members are sent the question. Without it their silence means nothing.
        """
        self._round += 1
        self._is_asked = is_asked
        self._queried = set(calls)
        self._replied = set()
        for records in (self._claims, self._strikes):
            for call in records.keys() - self._queried:
                del records[call]
        return RollCallQuery(self._round, calls)

    def record(self, reply: RollCallReply) -> None:
        """Record the reply of a member. A reply to an earlier round does not count for the calls of this one."""
        member = reply.member
        self.members.add(member)
        self._silent_since.pop(member, None)
        if reply.round == LEAVING:
            self.leaving.add(member)
            return
        if reply.round != self._round:
            return
        self._replied.add(member)
        for call in [call for call, holder in self._claims.items() if holder == member]:
            del self._claims[call]
        for call in reply.calls:
            self._claims[call] = member
            self._strikes.pop(call, None)

    def remove(self, member: str) -> list[str]:
        """Remove a member that is gone; return the calls it held, which are lost."""
        self.members.discard(member)
        self.leaving.discard(member)
        self._silent_since.pop(member, None)
        lost = [call for call, holder in self._claims.items() if holder == member]
        for call in lost:
            del self._claims[call]
        return lost

    def close_round(self, now: float) -> list[str]:
        """End the round; return the lost calls: those of silent members, and those that certainly no member holds."""
        if not self._is_asked:
            return []
        for member in self.members - self._replied:
            self._silent_since.setdefault(member, now)
        silent = self.silent(now)
        if now - self._since < SETTLE_S or not self.members - silent <= self._replied:
            return []
        lost = []
        for call in self._queried:
            holder = self._claims.get(call)
            if holder in silent:
                del self._claims[call]
                lost.append(call)
            elif holder is None:
                self._strikes[call] = self._strikes.get(call, 0) + 1
                if self._strikes[call] >= _STRIKES:
                    lost.append(call)
                    self._ghost_until = now + GHOST_S
        return lost

    def excuse_silence(self) -> None:
        """Measure the silence of members from now on: replies may have come that this process has not read yet."""
        self._silent_since.clear()

    def silent(self, now: float) -> set[str]:
        """Return the members that have replied to no roll call for `SILENT_S`."""
        if not self._silent_since:
            return set()
        return {member for member, since in self._silent_since.items() if now - since >= SILENT_S}

    def must_name(self, now: float) -> bool:
        """Return whether requests have to be addressed by name: a member is silent, or NATS knows one that is not there."""
        return bool(self._silent_since and self.silent(now)) or now < self._ghost_until

    def answering(self, now: float) -> list[str]:
        """Return the members that requests can be addressed to by name: they reply, and they are not leaving."""
        return sorted(self.members - self.leaving - self.silent(now))
