"""The payload of a join: every member in the forms that clients send, and in forms that nobody should."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.changes import Position
from schemas.realtime import ChangeSubscription
from services.realtime.protocol.join import parse_join, subscription_id
from tests.fuzz.mutate import near


def parsed(**config: object):  # type: ignore[no-untyped-def]  # shown by its use
    return parse_join(msgspec.json.encode({"config": config}), "k")


PAYLOADS = [
    b'{"config":{"broadcast":{"ack":true,"self":"true","replay":{"since":1700000000000,"limit":9}},"presence":{"key":"k",'
    b'"enabled":true},"private":true},"access_token":"t"}',
    b'{"config":{"postgres_changes":[{"event":"INSERT","schema":"public","table":"a","filter":"id=eq.1","select":["b"]},'
    b'{"event":"*","schema":"s"}]}}',
    b'{"config":{"postgres_changes":[{"table":"a","select":"b, c"}],"resume":{"commit":"1A/2B","number":3}}}',
    b'{"config":{"resume":"1A/2B:3"},"user_token":"t"}',
]
WORDS = [b"null", b"[]", b"{}", b'""', b"true", b"1e400", b'"replay"', b'"resume"', b'"select"', b"[" * 5000]


@given(near(PAYLOADS, WORDS) | st.binary(max_size=60) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["config", "broadcast", "presence", "postgres_changes", "replay", "since", "private", "key",
                         "schema", "table", "filter", "event", "select", "resume", "access_token"]), inner, max_size=4),
    max_leaves=12,
).map(msgspec.json.encode))  # fmt: skip
@settings(max_examples=300)
def test_any_payload_gives_a_join(payload: bytes) -> None:
    assert parse_join(payload).presence_key


def test_nothing_said_means_the_defaults() -> None:
    join = parse_join(b"{}", "k")

    assert (join.is_private, join.has_ack, join.has_self, join.presence, join.replay) == (False,) * 3 + (
        None,
    ) * 2
    assert (join.presence_key, join.changes, join.token, join.ignored) == ("k", (), None, ())


@pytest.mark.parametrize("value", [True, "true", "TRUE", "True"])
def test_flags_may_be_texts(value: object) -> None:
    join = parsed(private=value, broadcast={"ack": value, "self": value}, presence={"enabled": value})

    assert join.is_private
    assert join.has_ack
    assert join.has_self
    assert join.presence is True


def test_wrong_forms_are_named_and_count_as_not_given() -> None:
    join = parsed(private="maybe", broadcast=[], presence={"enabled": 3}, postgres_changes={"a": 1})

    assert set(join.ignored) == {"private", "broadcast", "enabled", "postgres_changes"}
    assert not join.is_private


@pytest.mark.parametrize(
    ("key", "shown"), [("", "k"), (None, "k"), ("a", "a"), (7, "7"), ({"a": 1}, '{"a":1}')]
)
def test_presence_key_may_be_anything(key: object, shown: str) -> None:
    assert parsed(presence={"key": key}).presence_key == shown


@pytest.mark.parametrize(
    ("sent", "entry"),
    [
        ({"table": "a"}, ChangeSubscription("*", "public", "a")),
        ({"schema": "s"}, ChangeSubscription("*", "s", "*")),
        ({"schema": "s", "event": "insert"}, ChangeSubscription("INSERT", "s", "*")),
        ({"schema": "s", "event": "TRUNCATE"}, ChangeSubscription("*", "s", "*")),
        ({"schema": "*", "table": "*", "event": 3, "filter": None}, ChangeSubscription("*", "*", "*")),
        (
            {"schema": "s", "table": "a", "filter": "id=eq.1", "select": ["b"]},
            ChangeSubscription("*", "s", "a", "id=eq.1", ["b"]),
        ),
        ({"schema": "s", "table": "a", "select": "b, c"}, ChangeSubscription("*", "s", "a", "", ["b", "c"])),
    ],
)
def test_entries_get_their_defaults(sent: dict[str, object], entry: ChangeSubscription) -> None:
    (wanted,) = parsed(postgres_changes=[sent]).changes

    assert wanted.subscription == entry
    assert wanted.reply() == {**sent, "id": subscription_id(entry)}


@pytest.mark.parametrize("sent", [{}, {"event": "*"}, {"schema": 1}, {"schema": "", "table": ""}])
def test_entry_without_schema_and_table_is_refused(sent: dict[str, object]) -> None:
    (wanted,) = parsed(postgres_changes=[sent]).changes

    assert wanted.subscription is None
    assert wanted.error.startswith(
        "No subscription params provided. Please provide at least a `schema` or `table`"
    )
    assert wanted.id > 0


def test_id_is_a_pure_function_of_the_entry() -> None:
    assert 0 < subscription_id(ChangeSubscription("*", "public", "a")) < 2**27
    assert subscription_id(ChangeSubscription("*", "public", "a")) == subscription_id(
        ChangeSubscription("*", "public", "a")
    )
    assert subscription_id(ChangeSubscription("*", "public", "a")) != subscription_id(
        ChangeSubscription("INSERT", "public", "a")
    )


@pytest.mark.parametrize(
    ("replay", "is_valid"),
    [({"since": 1}, True), ({"since": 1, "limit": 99}, True), ({}, False), ({"since": "1"}, False),
     ({"since": 1, "limit": 0}, True), ({"since": 1, "limit": "9"}, False), ({"since": True}, False), ([], False), ({"since": -1}, False)],
)  # fmt: skip
def test_replay_needs_whole_numbers(replay: object, is_valid: bool) -> None:
    join = parsed(broadcast={"replay": replay})

    assert join.replay is not None
    assert join.replay.is_valid is is_valid
    assert 1 <= join.replay.limit <= 25


def test_resume_is_a_position() -> None:
    assert parsed(resume="a-0-1").resume == Position(10, 0, 1)
    assert parsed(resume="nonsense").resume_error
    assert parsed(resume=5).resume_error


@pytest.mark.parametrize(
    ("payload", "token"),
    [({"access_token": "a"}, "a"), ({"access_token": "a", "user_token": "u"}, "u"), ({"access_token": "sb_x"}, None),
     ({"access_token": None}, None), ({"access_token": 1}, None), ({"access_token": ""}, None)],
)  # fmt: skip
def test_token_of_the_user_wins_and_opaque_keys_are_none(
    payload: dict[str, object], token: str | None
) -> None:
    join = parse_join(msgspec.json.encode(payload))

    assert join.token == token
    assert "token" not in repr(join)


@pytest.mark.parametrize(
    ("topic", "entry"),
    [("realtime:*", ChangeSubscription("*", "*", "*")), ("realtime:public", ChangeSubscription("*", "public", "*")),
     ("realtime:public:todos", ChangeSubscription("*", "public", "todos")), ("realtime:app:*", ChangeSubscription("*", "app", "*")),
     ("realtime:public:todos:at=eq.10:30", ChangeSubscription("*", "public", "todos", "at=eq.10:30"))],
)  # fmt: skip
def test_a_topic_without_config_is_the_subscription(topic: str, entry: ChangeSubscription) -> None:
    join = parse_join(b'{"user_token":"t"}', topic=topic)

    assert join.is_old
    assert [wanted.subscription for wanted in join.changes] == [entry]
    assert parse_join(b'{"config":{}}', topic=topic).changes == ()


def test_a_room_without_config_is_a_room() -> None:
    join = parse_join(b"{}", topic="realtime:lobby")

    assert (join.is_old, join.changes) == (False, ())
