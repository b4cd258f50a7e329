import struct

import pytest

from workers.database.errors import DatabaseError
from workers.database.protocol import frontend_messages


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def test_bind_holds_parameters_in_text_with_null_and_empty():
    sent = frontend_messages.run(frontend_messages.bind_head(b"s"), (b"a", None, b""))

    bind = b"\0s\0" + b"\0\0" + b"\0\3" + b"\0\0\0\1a" + b"\xff\xff\xff\xff" + b"\0\0\0\0" + b"\0\0"
    assert sent == message(b"B", bind) + message(b"E", b"\0\0\0\0\0")


def test_result_formats_name_every_column():
    assert frontend_messages.result_formats(3, frozenset({1})) == b"\0\3" + b"\0\0" + b"\0\1" + b"\0\0"


@pytest.mark.parametrize("text", ["a\0b", "half a pair \ud800"])
def test_text_postgres_cannot_hold_is_refused_before_it_is_sent(text):
    with pytest.raises(DatabaseError) as caught:
        frontend_messages.run_pairs(frontend_messages.bind_head(b""), [("app.tenant", text)])

    assert caught.value.code == "22021"


def test_a_parameter_with_a_nul_is_refused():
    with pytest.raises(DatabaseError) as caught:
        frontend_messages.run(frontend_messages.bind_head(b""), (b"fine", b"not\0fine"))

    assert caught.value.code == "22021"


def test_too_many_parameters_are_refused():
    with pytest.raises(DatabaseError) as caught:
        frontend_messages.run(frontend_messages.bind_head(b""), [b""] * 65536)

    assert caught.value.code == "54000"
