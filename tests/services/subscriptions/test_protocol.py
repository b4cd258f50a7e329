"""Messages of graphql-transport-ws."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.subscriptions import protocol
from services.subscriptions.protocol import Complete, Init, MessageRejected, Ping, Pong, Subscribe
from tests.fuzz.mutate import near_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"type":"connection_init"}', Init()),
        ('{"type":"connection_init","payload":{"apikey":"k"}}', Init({"apikey": "k"})),
        ('{"type":"ping","payload":{"a":1}}', Ping({"a": 1})),
        ('{"type":"pong"}', Pong()),
        ('{"id":"1","type":"complete"}', Complete("1")),
    ],
)
def test_messages_of_clients_are_read(text: str, expected: object) -> None:
    assert protocol.read(text) == expected


def test_the_operation_is_kept_as_it_came() -> None:
    payload = '{"query": "{a}", "variables": {"n": 12345678901234567890}, "extensions": {}}'
    message = protocol.read(f'{{"id":"1","type":"subscribe","payload":{payload}}}')

    assert isinstance(message, Subscribe)
    assert bytes(message.payload).decode() == payload


@given(st.text() | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps))
def test_what_is_no_message_is_refused(text: str) -> None:
    with pytest.raises(MessageRejected):
        protocol.read(text)


MESSAGES = [
    '{"type":"connection_init","payload":{"apikey":"k"}}',
    '{"type":"ping","payload":{"a":1}}',
    '{"id":"1","type":"subscribe","payload":{"query":"{a}","operationName":"O","variables":{"n":[1]},"extensions":{}}}',
    '{"id":"1","type":"complete"}',
]


@given(
    near_text(
        MESSAGES,
        ['"id"', '"type"', '"payload"', '"query"', '"subscribe"', '"pong"', "null", "[" * 5000, '""'],
    )
)
def test_any_text_near_a_message_is_read_or_refused(text: str) -> None:
    try:
        message = protocol.read(text)
    except MessageRejected:
        return

    assert json.loads(text)["type"] in ("connection_init", "ping", "pong", "subscribe", "complete")
    assert not isinstance(message, Subscribe | Complete) or message.id
    assert not isinstance(message, Subscribe) or isinstance(json.loads(bytes(message.payload))["query"], str)


@given(st.text(max_size=400))
def test_the_reason_of_a_close_fits_into_its_frame(reason: str) -> None:
    shortened = protocol.shortened(reason.encode(errors="replace").decode())

    assert len(shortened) <= 123
    shortened.decode()


def test_what_is_written_is_json() -> None:
    id = json.dumps('a"b').encode()

    assert json.loads(protocol.next_(id, b'{"data":null}')) == {
        "id": 'a"b',
        "type": "next",
        "payload": {"data": None},
    }
    assert json.loads(protocol.error(id, protocol.errors_of("no", "C"))) == {
        "id": 'a"b', "type": "error", "payload": [{"message": "no", "extensions": {"code": "C"}}],
    }  # fmt: skip
    assert json.loads(protocol.complete(id)) == {"id": 'a"b', "type": "complete"}
    assert json.loads(protocol.pong(None)) == {"type": "pong"}
    assert json.loads(protocol.ping({"subscribed": "1"})) == {"type": "ping", "payload": {"subscribed": "1"}}
