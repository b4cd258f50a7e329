"""What counts as a key, and as a repeat."""

import json

import pytest

from schemas.caller import AnonymousCaller, Caller, ServiceCaller, UserCaller
from schemas.http import Headers, Request
from workers.idempotency.errors import KeyMalformed
from workers.idempotency.key import KeyedRequest, keyed_request, parse_key


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"),
        ('"8e03978e-40d5-43dd-bc93-6894a57f9324"', "8e03978e-40d5-43dd-bc93-6894a57f9324"),
        (' \t"a b" ', "a b"),
        (r'"a\"b\\c"', r'a"b\c'),
        ('a"b', 'a"b'),
        ("k" * 255, "k" * 255),
        ('"' + "k" * 255 + '"', "k" * 255),
    ],
)
def test_a_key_is_a_text_or_a_quoted_string(value: str, key: str) -> None:
    assert parse_key([("accept", "*/*"), ("idempotency-key", value)]) == key


@pytest.mark.parametrize(
    "value", ["", " ", '""', "k" * 256, '"a', '"a" b', '"a";b=1', r'"a\b"', "a\tb", "a\x00", "a\x7f", "\x1b[2J", "ä", "a\udcff", '"ä"']
)  # fmt: skip
def test_what_is_no_key_is_refused(value: str) -> None:
    with pytest.raises(KeyMalformed):
        parse_key([("idempotency-key", value)])


def test_two_keys_are_refused_and_none_is_none() -> None:
    with pytest.raises(KeyMalformed, match="more than once"):
        parse_key([("idempotency-key", "a"), ("idempotency-key", "a")])
    assert parse_key([("x-idempotency-key", "a")]) is None


_SERVICE = ServiceCaller()


def user(**claims: object) -> UserCaller:
    return UserCaller(json.dumps(claims).encode())


def identified(
    caller: Caller = _SERVICE,
    role: str = "r",
    *,
    area: str = "rest",
    method: str = "POST",
    path: str = "/t",
    query: str = "",
    headers: Headers | None = None,
    body: bytes = b"{}",
) -> KeyedRequest:
    return keyed_request(Request("1", method, path, query, headers or [], caller), area, "k", role, body)


def test_callers_are_told_apart_by_issuer_subject_and_role_alone() -> None:
    ada = identified(user(sub="ada", iss="here", exp=1, session_id="a", aal="aal1"))

    assert identified(user(sub="ada", iss="here", exp=2, session_id="b", aal="aal2")).caller == ada.caller
    others = [
        identified(user(sub="bob", iss="here")),
        identified(user(sub="ada", iss="there")),
        identified(user(sub="ada", iss="here"), "other"),
        identified(user(iss="here")),
        identified(user(sub="", iss="here")),
        identified(AnonymousCaller()),
        identified(ServiceCaller()),
    ]
    assert ada.caller not in {other.caller for other in others}


def test_a_token_without_a_subject_is_told_apart_by_its_other_claims() -> None:
    one = identified(user(email="a@x.y", exp=1, iat=1, nbf=1, jti="1"))

    assert identified(user(exp=2, iat=2, nbf=2, jti="2", email="a@x.y")).caller == one.caller
    assert identified(user(email="b@x.y")).caller != one.caller


@pytest.mark.parametrize(
    "change",
    [
        {"area": "graphql"},
        {"method": "PATCH"},
        {"path": "/u"},
        {"query": "select=a"},
        {"headers": [("content-profile", "other")]},
        {"headers": [("content-type", "text/csv")]},
        {"body": b"{ }"},
    ],
)
def test_a_repeat_asks_for_the_same(change: dict[str, object]) -> None:
    first = identified()

    assert (
        identified(headers=[("prefer", "return=minimal"), ("user-agent", "x")]).fingerprint
        == first.fingerprint
    )
    assert identified(**change).fingerprint != first.fingerprint  # type: ignore[arg-type]  # names and values of the arguments
