"""The state machine of a channel, without a socket: each event with the actions that follow, in their order."""

import math

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.realtime import ReplayedMessage
from services.realtime.channels.actions import (
    Action,
    BroadcastSend,
    ChangesStart,
    ChannelClose,
    ChannelEnd,
    IdentityChange,
    JoinCheck,
    MessageReplay,
    PresenceTrack,
    PresenceUntrack,
    PushReply,
    ReadCheck,
    ReadRights,
    ServerPush,
    TokenCheck,
    TopicStart,
    WriteCheck,
)
from services.realtime.channels.machine import ChannelLimits, ChannelMachine, ChannelState
from services.realtime.protocol.frames import Push, UserPush
from services.realtime.protocol.join import parse_join
from services.realtime.tokens import RealtimeIdentity, RealtimeTokenRejected

NOW = 1000.0
ANON = RealtimeIdentity("anon", b'{"role":"anon"}')
ADA = RealtimeIdentity("authenticated", b'{"sub":"ada"}', NOW + 100, "ada's")
TOPIC = "realtime:room"
OK = (PushReply("1", "ok", b'{"postgres_changes":[]}'), TopicStart(with_state=False))


def channel(
    identity: RealtimeIdentity = ANON, bounds: ChannelLimits | None = None, **config: object
) -> ChannelMachine:
    join = parse_join(msgspec.json.encode({"config": config}), "key")
    return ChannelMachine(TOPIC, "1", join, identity, bounds or ChannelLimits(), "1")


def joined(
    identity: RealtimeIdentity = ANON, bounds: ChannelLimits | None = None, **config: object
) -> ChannelMachine:
    one = channel(identity, bounds, **config)
    one.start()
    if one.identity.token:
        one.token_checked(identity)
    one.join_allowed(ReadRights())
    return one


def push(event: str, payload: object, ref: str = "5") -> Push:
    return Push(TOPIC, event, msgspec.json.encode(payload), ref, "1")


def track(payload: object) -> Push:
    return push("presence", {"type": "presence", "event": "track", "payload": payload})


def kinds(actions: list[object]) -> list[type]:
    return [type(action) for action in actions]


def test_join_asks_for_a_place_and_is_answered() -> None:
    one = channel()

    assert one.start() == [JoinCheck()]
    assert tuple(one.join_allowed(ReadRights())) == OK
    assert one.state is ChannelState.JOINED


def test_token_is_looked_at_first() -> None:
    one = channel(ADA)

    assert one.start() == [TokenCheck("ada's")]
    assert one.token_checked(ADA) == [JoinCheck()]


def test_refused_token_ends_the_join_slowly() -> None:
    one = channel(ADA)
    one.start()
    (reply, leave) = one.token_checked(RealtimeTokenRejected("MalformedJWT", "no"))

    assert reply == PushReply("1", "error", b'{"reason":"MalformedJWT: no"}', is_slow=True)
    assert leave == ChannelEnd()
    assert one.join_allowed(ReadRights()) == []


def test_everything_after_the_reply_has_its_order() -> None:
    one = channel(
        private=True, presence={"enabled": True}, postgres_changes=[{"table": "a"}],
        broadcast={"replay": {"since": 1}, "replication_ready": True},
    )  # fmt: skip
    one.start()
    stored = (ReplayedMessage("id", "e", b"1"),)

    actions = one.join_allowed(ReadRights(True, True, stored))

    assert kinds(actions) == [PushReply, MessageReplay, TopicStart, ServerPush, ChangesStart]
    assert actions[2] == TopicStart(with_state=True)


def test_private_channel_without_rights_is_refused() -> None:
    one = channel(private=True)
    one.start()

    assert kinds(one.join_allowed(ReadRights(False, False))) == [PushReply, ChannelEnd]


def test_replay_needs_the_right_to_read_broadcasts() -> None:
    one = channel(private=True, broadcast={"replay": {"since": 1}})
    one.start()

    assert kinds(one.join_allowed(ReadRights(False, True))) == [PushReply, ChannelEnd]


def test_pushes_wait_while_a_question_is_open() -> None:
    one = channel(broadcast={"ack": True})
    one.start()

    assert one.push(push("broadcast", {"n": 1}, "a"), NOW) == []
    assert one.push(push("phx_leave", {}, "b"), NOW) == []
    assert kinds(one.join_allowed(ReadRights())) == [
        PushReply,
        TopicStart,
        BroadcastSend,
        PushReply,
        PushReply,
        ChannelClose,
        ChannelEnd,
    ]


def test_too_many_waiting_pushes_end_the_channel() -> None:
    one = channel()
    one.start()
    ended = [one.push(push("broadcast", "x" * 100_000), NOW) for _ in range(170)]

    assert [kinds(actions) for actions in ended if actions] == [[ServerPush, ChannelClose, ChannelEnd]]


def test_write_permission_is_asked_once() -> None:
    one = joined(private=True, broadcast={"ack": True})

    assert one.push(push("broadcast", 1), NOW) == [WriteCheck("broadcast")]
    assert kinds(one.write_checked("broadcast", True)) == [BroadcastSend, PushReply]
    assert kinds(one.push(push("broadcast", 2), NOW)) == [BroadcastSend, PushReply]


def test_denied_broadcast_is_dropped_in_silence() -> None:
    one = joined(private=True, broadcast={"ack": True})
    one.push(push("broadcast", 1), NOW)

    assert one.write_checked("broadcast", False) == []
    assert one.push(UserPush(TOPIC, "e", b"1", True), NOW) == []


def test_unknown_permission_is_asked_again() -> None:
    one = joined(private=True)
    one.push(push("broadcast", 1), NOW)

    assert one.write_checked("broadcast", None) == []
    assert one.push(push("broadcast", 2), NOW) == [WriteCheck("broadcast")]


def test_denied_track_is_answered() -> None:
    one = joined(private=True)

    assert one.push(track({}), NOW) == [WriteCheck("presence")]
    assert one.write_checked("presence", False) == [PushReply("5", "error", b"{}", "1")]


def test_track_untrack_and_their_repetitions() -> None:
    one = joined()
    reply = PushReply("5", "ok", b"{}", "1")
    untrack = push("presence", {"type": "presence", "event": "UNTRACK"})

    assert one.push(track({"a": 1}), NOW) == [TopicStart(with_state=True), PresenceTrack(b'{"a":1}'), reply]
    assert one.push(track({"a": 1}), NOW) == [reply]
    assert one.push(track({"a": 2}), NOW) == [PresenceTrack(b'{"a":2}'), reply]
    assert one.push(untrack, NOW) == [PresenceUntrack(), reply]
    assert one.push(untrack, NOW) == [reply]


def test_same_and_opaque_tokens_change_nothing() -> None:
    one = joined(ADA)

    for token in ("ada's", None, "sb_secret_x", 7):
        assert one.push(push("access_token", {"access_token": token}), NOW) == []


def test_new_token_of_a_public_channel_renews() -> None:
    one = joined(ADA)
    later = RealtimeIdentity("authenticated", b'{"sub":"ada","n":1}', NOW + 900, "newer")

    assert one.push(push("access_token", {"access_token": "newer"}), NOW) == [TokenCheck("newer")]
    assert one.token_checked(later) == [IdentityChange()]
    assert one.identity is later


def test_new_token_of_a_private_channel_is_read_with_again() -> None:
    one = joined(ADA, private=True, presence={"enabled": True})
    later = RealtimeIdentity("authenticated", b"{}", NOW + 900, "newer")
    one.push(push("access_token", {"access_token": "newer"}), NOW)

    assert one.token_checked(later) == [ReadCheck(later)]
    assert one.identity is ADA
    assert one.read_checked(ReadRights(True, False)) == [TopicStart(with_state=False), IdentityChange()]
    assert one.identity is later


def test_when_nobody_can_say_what_a_new_token_reads_the_channel_ends() -> None:
    one = joined(ADA, private=True)
    one.push(push("access_token", {"access_token": "newer"}), NOW)
    one.token_checked(RealtimeIdentity("authenticated", b"{}", NOW + 900, "newer"))

    assert kinds(one.read_checked(None)) == [ServerPush, ChannelClose, ChannelEnd]


def test_look_verifies_again_and_ends_what_is_over() -> None:
    one = joined(ADA)

    assert one.next_token_check(NOW) == 100
    assert one.check_token(NOW + 50) == [TokenCheck("ada's")]
    assert one.token_checked(ADA) == []
    (told, close, leave) = one.check_token(NOW + 103)
    assert isinstance(told, ServerPush)
    assert b"Token has expired 3 seconds ago" in told.payload
    assert (close, leave) == (ChannelClose(), ChannelEnd())
    assert one.next_token_check(NOW) is None


def test_channel_of_an_opaque_key_does_not_end() -> None:
    one = joined(RealtimeIdentity("anon", b"{}", math.inf))

    assert one.next_token_check(NOW) is None
    assert one.check_token(NOW * 1e9) == []


def test_presence_calls_are_limited_where_the_settings_say_so() -> None:
    one = joined(bounds=ChannelLimits(presence_calls=0.1))

    answers = [one.push(track({"n": number}), NOW) for number in range(4)]

    assert kinds(answers[-1]) == [ServerPush, ChannelClose, ChannelEnd]


events = st.sampled_from(
    [
        "broadcast",
        "user broadcast",
        "presence",
        "access_token",
        "phx_leave",
        "x",
        "look",
        "later",
        "write",
        "rights",
        "denied",
        "token",
        "refused",
    ]
)
payloads = st.sampled_from(
    [None, {}, [], {"event": "track", "payload": {}}, {"event": "track", "payload": "x"}, {"event": "untrack"}, {"event": 7},
     {"type": "broadcast", "event": "e", "payload": {"n": 1}}, {"access_token": "t"}, {"access_token": 5}, {"access_token": None}, "x"]
)  # fmt: skip
configs = st.fixed_dictionaries(
    {"private": st.booleans()},
    optional={
        "broadcast": st.fixed_dictionaries(
            {"ack": st.booleans(), "self": st.booleans()},
            optional={"replay": st.just({"since": 1, "limit": 2})},
        ),
        "presence": st.fixed_dictionaries({"key": st.just("k"), "enabled": st.booleans()}),
        "postgres_changes": st.lists(
            st.sampled_from([{"event": "*", "schema": "s"}, {"table": "a", "filter": "id=eq.1"}, {}]),
            max_size=2,
        ),
    },
)
all_rights = st.sampled_from(
    [
        ReadRights(),
        ReadRights(broadcast=False),
        ReadRights(False, False),
        ReadRights(replayed=(ReplayedMessage("id", "e", b"1"),)),
    ]
)
identities = st.sampled_from([ADA, ANON])
QUESTIONS = (TokenCheck, JoinCheck, WriteCheck, ReadCheck)


def _step(
    one: ChannelMachine, event: str, payload: object, question: object, given_rights: ReadRights
) -> list[Action] | None:
    """Let an event happen to a channel and give what follows; None if it answers a question that is not open."""
    match event, question:
        case "token", TokenCheck():
            return one.token_checked(RealtimeIdentity("r", b"{}", NOW + 9, f"{payload}"))
        case "refused", TokenCheck():
            return one.token_checked(RealtimeTokenRejected("InvalidJWTToken", "expired"))
        case (("rights" | "denied"), JoinCheck()):
            return one.join_allowed(given_rights) if event == "rights" else one.join_failed("no")
        case (("rights" | "denied"), ReadCheck()):
            return one.read_checked(given_rights if event == "rights" else None)
        case "write", WriteCheck(extension):
            return one.write_checked(extension, None if payload is None else payload != "x")
        case (("token" | "refused" | "rights" | "denied" | "write"), _):
            return None
        case (("look" | "later"), _):
            return one.check_token(NOW if event == "look" else NOW + 1000)
        case "user broadcast", _:
            return one.push(UserPush(TOPIC, "e", b"{}", True, "5", "1"), NOW)
    return one.push(push(event, payload), NOW)


@given(st.lists(st.tuples(events, payloads, all_rights), max_size=25), configs, identities)
@settings(max_examples=600, deadline=None)
def test_no_order_of_events_opens_two_questions_or_outlives_the_end(
    steps: list[tuple[str, object, ReadRights]], config: dict[str, object], identity: RealtimeIdentity
) -> None:
    one = channel(identity, **config)
    open_question = next((action for action in one.start() if isinstance(action, QUESTIONS)), None)
    for event, payload, rights in steps:
        before = one.state
        actions = _step(one, event, payload, open_question, rights)
        if actions is None:
            continue
        if event in ("token", "refused", "rights", "denied", "write"):
            open_question = None
        asked = [action for action in actions if isinstance(action, QUESTIONS)]
        assert len(asked) + (open_question is not None and one.state is not ChannelState.CLOSED) <= 1
        assert not (before is ChannelState.CLOSED and actions)
        assert (ChannelEnd() in actions) == (
            one.state is ChannelState.CLOSED and before is not ChannelState.CLOSED
        )
        open_question = asked[0] if asked else open_question
