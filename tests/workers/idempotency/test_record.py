"""Records cannot be read, made or moved without both secrets."""

import pytest

from schemas.http import Response
from workers.idempotency.key import KeyedRequest
from workers.idempotency.record import RecordPlace, RecordSealer, StoredAnswer

_URL = "postgresql://authenticator:p%40ss@127.0.0.1:5432/postgres"
_REQUEST = KeyedRequest(b"ada", "key", b"f" * 32)
_ANSWER = Response(201, [("location", "/t?id=eq.1")], b'[{"secret": 1}]')


@pytest.fixture
def sealer() -> RecordSealer:
    return RecordSealer("jwt secret", _URL)


def sealed(sealer: RecordSealer, most: int = 1 << 20) -> tuple[RecordPlace, bytes]:
    place = sealer.place(_REQUEST)
    return place, sealer.seal(place, _REQUEST, _ANSWER, most)


def test_a_record_holds_the_answer(sealer: RecordSealer) -> None:
    expected = StoredAnswer(b"f" * 32, 201, [("location", "/t?id=eq.1")], b'[{"secret": 1}]')

    assert sealer.open(*sealed(sealer)) == expected
    assert RecordSealer("jwt secret", _URL).open(*sealed(sealer)) == expected


def test_a_long_body_is_left_out(sealer: RecordSealer) -> None:
    assert sealer.open(*sealed(sealer, len(_ANSWER.body))) is not None
    without = sealer.open(*sealed(sealer, len(_ANSWER.body) - 1))
    assert without is not None
    assert (without.status, without.body) == (201, None)


@pytest.mark.parametrize(
    ("secret", "url"),
    [("another", _URL), ("jwt secret", _URL.replace("p%40ss", "other")), ("jwt secret", _URL.replace(":p%40ss", ""))],
)  # fmt: skip
def test_both_secrets_are_needed(sealer: RecordSealer, secret: str, url: str) -> None:
    other = RecordSealer(secret, url)
    place, record = sealed(sealer)

    assert other.place(_REQUEST) != place
    assert other.open(place, record) is None


def test_a_record_belongs_to_its_place(sealer: RecordSealer) -> None:
    place, record = sealed(sealer)
    elsewhere = sealer.place(KeyedRequest(b"bob", "key", b"f" * 32))

    assert elsewhere.slot != place.slot
    assert elsewhere.caller != place.caller
    assert sealer.open(elsewhere, record) is None


@pytest.mark.parametrize("forged", [b"", b"x", b"\0" * 12, b"\0" * 64])
def test_what_was_not_sealed_here_is_no_record(sealer: RecordSealer, forged: bytes) -> None:
    place, record = sealed(sealer)

    assert sealer.open(place, forged) is None
    assert sealer.open(place, record[:-1] + bytes([record[-1] ^ 1])) is None


def test_callers_and_keys_do_not_run_into_one_another(sealer: RecordSealer) -> None:
    one = sealer.place(KeyedRequest(b"ab", "c", b""))
    other = sealer.place(KeyedRequest(b"a", "bc", b""))

    assert one.slot != other.slot
