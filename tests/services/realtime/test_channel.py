"""The state machine of a channel, without a socket: each event with the actions that follow, in their order."""

import math

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.realtime import Replayed
from services.realtime.channel import Bounds, Channel, State
from services.realtime.channel_actions import (
    Action,
    Admit,
    AskWrite,
    Broadcast,
    Close,
    Enabled,
    Follow,
    Leave,
    ReadAgain,
    Renew,
    Replay,
    Reply,
    Rights,
    Tell,
    Track,
    Untrack,
    Verify,
)
from services.realtime.frames import Push, UserPush
from services.realtime.join import parse_join
from services.realtime.tokens import Identity, TokenRefused

NOW = 1000.0
ANON = Identity("anon", b'{"role":"anon"}')
ADA = Identity("authenticated", b'{"sub":"ada"}', NOW + 100, "ada's")
TOPIC = "realtime:room"
OK = (Reply("1", "ok", b'{"postgres_changes":[]}'), Enabled(with_state=False))


def channel(identity: Identity = ANON, bounds: Bounds | None = None, **config: object) -> Channel:
    join = parse_join(msgspec.json.encode({"config": config}), "key")
    return Channel(TOPIC, "1", join, identity, bounds or Bounds(), "1")


def joined(identity: Identity = ANON, bounds: Bounds | None = None, **config: object) -> Channel:
    one = channel(identity, bounds, **config)
    one.begin()
    if one.identity.token:
        one.identified(identity)
    one.admitted(Rights())
    return one


def push(event: str, payload: object, ref: str = "5") -> Push:
    return Push(TOPIC, event, msgspec.json.encode(payload), ref, "1")


def track(payload: object) -> Push:
    return push("presence", {"type": "presence", "event": "track", "payload": payload})


def kinds(actions: list[object]) -> list[type]:
    return [type(action) for action in actions]


def test_join_asks_for_a_place_and_is_answered() -> None:
    one = channel()

    assert one.begin() == [Admit()]
    assert tuple(one.admitted(Rights())) == OK
    assert one.state is State.JOINED


def test_token_is_looked_at_first() -> None:
    one = channel(ADA)

    assert one.begin() == [Verify("ada's")]
    assert one.identified(ADA) == [Admit()]


def test_refused_token_ends_the_join_slowly() -> None:
    one = channel(ADA)
    one.begin()
    (reply, leave) = one.identified(TokenRefused("MalformedJWT", "no"))

    assert reply == Reply("1", "error", b'{"reason":"MalformedJWT: no"}', is_slow=True)
    assert leave == Leave()
    assert one.admitted(Rights()) == []


def test_everything_after_the_reply_has_its_order() -> None:
    one = channel(
        private=True, presence={"enabled": True}, postgres_changes=[{"table": "a"}],
        broadcast={"replay": {"since": 1}, "replication_ready": True},
    )  # fmt: skip
    one.begin()
    stored = (Replayed("id", "e", b"1"),)

    actions = one.admitted(Rights(True, True, stored))

    assert kinds(actions) == [Reply, Replay, Enabled, Tell, Follow]
    assert actions[2] == Enabled(with_state=True)


def test_private_channel_without_rights_is_refused() -> None:
    one = channel(private=True)
    one.begin()

    assert kinds(one.admitted(Rights(False, False))) == [Reply, Leave]


def test_replay_needs_the_right_to_read_broadcasts() -> None:
    one = channel(private=True, broadcast={"replay": {"since": 1}})
    one.begin()

    assert kinds(one.admitted(Rights(False, True))) == [Reply, Leave]


def test_pushes_wait_while_a_question_is_open() -> None:
    one = channel(broadcast={"ack": True})
    one.begin()

    assert one.push(push("broadcast", {"n": 1}, "a"), NOW) == []
    assert one.push(push("phx_leave", {}, "b"), NOW) == []
    assert kinds(one.admitted(Rights())) == [Reply, Enabled, Broadcast, Reply, Reply, Close, Leave]


def test_too_many_waiting_pushes_end_the_channel() -> None:
    one = channel()
    one.begin()
    ended = [one.push(push("broadcast", "x" * 100_000), NOW) for _ in range(170)]

    assert [kinds(actions) for actions in ended if actions] == [[Tell, Close, Leave]]


def test_write_permission_is_asked_once() -> None:
    one = joined(private=True, broadcast={"ack": True})

    assert one.push(push("broadcast", 1), NOW) == [AskWrite("broadcast")]
    assert kinds(one.may_write("broadcast", True)) == [Broadcast, Reply]
    assert kinds(one.push(push("broadcast", 2), NOW)) == [Broadcast, Reply]


def test_denied_broadcast_is_dropped_in_silence() -> None:
    one = joined(private=True, broadcast={"ack": True})
    one.push(push("broadcast", 1), NOW)

    assert one.may_write("broadcast", False) == []
    assert one.push(UserPush(TOPIC, "e", b"1", True), NOW) == []


def test_unknown_permission_is_asked_again() -> None:
    one = joined(private=True)
    one.push(push("broadcast", 1), NOW)

    assert one.may_write("broadcast", None) == []
    assert one.push(push("broadcast", 2), NOW) == [AskWrite("broadcast")]


def test_denied_track_is_answered() -> None:
    one = joined(private=True)

    assert one.push(track({}), NOW) == [AskWrite("presence")]
    assert one.may_write("presence", False) == [Reply("5", "error", b"{}", "1")]


def test_track_untrack_and_their_repetitions() -> None:
    one = joined()
    reply = Reply("5", "ok", b"{}", "1")
    untrack = push("presence", {"type": "presence", "event": "UNTRACK"})

    assert one.push(track({"a": 1}), NOW) == [Enabled(with_state=True), Track(b'{"a":1}'), reply]
    assert one.push(track({"a": 1}), NOW) == [reply]
    assert one.push(track({"a": 2}), NOW) == [Track(b'{"a":2}'), reply]
    assert one.push(untrack, NOW) == [Untrack(), reply]
    assert one.push(untrack, NOW) == [reply]


def test_same_and_opaque_tokens_change_nothing() -> None:
    one = joined(ADA)

    for token in ("ada's", None, "sb_secret_x", 7):
        assert one.push(push("access_token", {"access_token": token}), NOW) == []


def test_new_token_of_a_public_channel_renews() -> None:
    one = joined(ADA)
    later = Identity("authenticated", b'{"sub":"ada","n":1}', NOW + 900, "newer")

    assert one.push(push("access_token", {"access_token": "newer"}), NOW) == [Verify("newer")]
    assert one.identified(later) == [Renew()]
    assert one.identity is later


def test_new_token_of_a_private_channel_is_read_with_again() -> None:
    one = joined(ADA, private=True, presence={"enabled": True})
    later = Identity("authenticated", b"{}", NOW + 900, "newer")
    one.push(push("access_token", {"access_token": "newer"}), NOW)

    assert one.identified(later) == [ReadAgain(later)]
    assert one.identity is ADA
    assert one.reads_again(Rights(True, False)) == [Enabled(with_state=False), Renew()]
    assert one.identity is later


def test_when_nobody_can_say_what_a_new_token_reads_the_channel_ends() -> None:
    one = joined(ADA, private=True)
    one.push(push("access_token", {"access_token": "newer"}), NOW)
    one.identified(Identity("authenticated", b"{}", NOW + 900, "newer"))

    assert kinds(one.reads_again(None)) == [Tell, Close, Leave]


def test_look_verifies_again_and_ends_what_is_over() -> None:
    one = joined(ADA)

    assert one.next_look(NOW) == 100
    assert one.look(NOW + 50) == [Verify("ada's")]
    assert one.identified(ADA) == []
    (told, close, leave) = one.look(NOW + 103)
    assert isinstance(told, Tell)
    assert b"Token has expired 3 seconds ago" in told.payload
    assert (close, leave) == (Close(), Leave())
    assert one.next_look(NOW) is None


def test_channel_of_an_opaque_key_does_not_end() -> None:
    one = joined(Identity("anon", b"{}", math.inf))

    assert one.next_look(NOW) is None
    assert one.look(NOW * 1e9) == []


def test_presence_calls_are_limited_where_the_settings_say_so() -> None:
    one = joined(bounds=Bounds(presence_calls=0.1))

    answers = [one.push(track({"n": number}), NOW) for number in range(4)]

    assert kinds(answers[-1]) == [Tell, Close, Leave]


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
    [Rights(), Rights(broadcast=False), Rights(False, False), Rights(replayed=(Replayed("id", "e", b"1"),))]
)
identities = st.sampled_from([ADA, ANON])
QUESTIONS = (Verify, Admit, AskWrite, ReadAgain)


def _step(
    one: Channel, event: str, payload: object, question: object, given_rights: Rights
) -> list[Action] | None:
    """Let an event happen to a channel and give what follows; None if it answers a question that is not open."""
    match event, question:
        case "token", Verify():
            return one.identified(Identity("r", b"{}", NOW + 9, f"{payload}"))
        case "refused", Verify():
            return one.identified(TokenRefused("InvalidJWTToken", "expired"))
        case (("rights" | "denied"), Admit()):
            return one.admitted(given_rights) if event == "rights" else one.not_admitted("no")
        case (("rights" | "denied"), ReadAgain()):
            return one.reads_again(given_rights if event == "rights" else None)
        case "write", AskWrite(extension):
            return one.may_write(extension, None if payload is None else payload != "x")
        case (("token" | "refused" | "rights" | "denied" | "write"), _):
            return None
        case (("look" | "later"), _):
            return one.look(NOW if event == "look" else NOW + 1000)
        case "user broadcast", _:
            return one.push(UserPush(TOPIC, "e", b"{}", True, "5", "1"), NOW)
    return one.push(push(event, payload), NOW)


@given(st.lists(st.tuples(events, payloads, all_rights), max_size=25), configs, identities)
@settings(max_examples=600, deadline=None)
def test_no_order_of_events_opens_two_questions_or_outlives_the_end(
    steps: list[tuple[str, object, Rights]], config: dict[str, object], identity: Identity
) -> None:
    one = channel(identity, **config)
    open_question = next((action for action in one.begin() if isinstance(action, QUESTIONS)), None)
    for event, payload, rights in steps:
        before = one.state
        actions = _step(one, event, payload, open_question, rights)
        if actions is None:
            continue
        if event in ("token", "refused", "rights", "denied", "write"):
            open_question = None
        asked = [action for action in actions if isinstance(action, QUESTIONS)]
        assert len(asked) + (open_question is not None and one.state is not State.CLOSED) <= 1
        assert not (before is State.CLOSED and actions)
        assert (Leave() in actions) == (one.state is State.CLOSED and before is not State.CLOSED)
        open_question = asked[0] if asked else open_question
