"""Keys that issuers publish, and keys for some algorithms only. Keys of our own: `test_tokens.py`."""

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given, settings
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from schemas.keys.token_keys import ASYMMETRIC, SYMMETRIC, KeySet, read_keys, read_published
from tests.fuzz.mutate import near_text

RSA = RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 2048), as_dict=True)
EC = ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256R1()), as_dict=True)
ED = OKPAlgorithm.to_jwk(ed25519.Ed25519PrivateKey.generate(), as_dict=True)
SECRET = {"kty": "oct", "k": "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3JldA"}


def published(*entries: Any) -> KeySet:
    return read_published(json.dumps({"keys": entries}))


def test_all_kinds_of_public_keys_are_read() -> None:
    found = published(*({**key, "kid": name} for name, key in (("r", RSA), ("e", EC), ("o", ED))))

    assert [key.id for key in found.keys] == ["r", "e", "o"]
    assert all(set(key.algorithms) <= set(ASYMMETRIC) for key in found.keys)


@pytest.mark.parametrize("key", [RSA, EC, ED])
def test_of_a_private_key_only_the_public_half_is_kept(key: dict[str, Any]) -> None:
    for found in (published(key), read_keys(json.dumps(key))):
        assert "Public" in type(found.keys[0].material).__name__


@pytest.mark.parametrize(
    "other",
    [
        SECRET,
        {**SECRET, "alg": "RS256"},
        {**EC, "kty": "oct", "k": "AAAA"},
        {**EC, "alg": "HS256"},
        {**EC, "use": "enc"},
        {},
    ],
)
def test_what_is_no_public_key_for_signatures_is_passed_over(other: dict[str, Any]) -> None:
    assert [key.id for key in published(other, {**RSA, "kid": "good"}).keys] == ["good"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not valid JSON"),
        ("7", "a JWK set is"),
        ('{"keys": 7}', "a JWK set is"),
        ('{"keys": [7]}', "a JWK set is"),
        ('{"keys": []}', "holds no public key"),
        (json.dumps([SECRET]), "holds no public key"),
        (json.dumps([EC] * 65), "more than 64 keys"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_what_is_no_key_set_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_published(text)


@pytest.mark.parametrize("bits", [1024, 16385])
def test_an_rsa_key_that_is_too_short_or_endless_is_passed_over(bits: int) -> None:
    number = (1 << bits - 1) | 1
    modulus = {"kty": "RSA", "kid": "odd", "e": "AQAB", "n": _base64(number)}

    assert [key.id for key in published(modulus, {**EC, "kid": "good"}).keys] == ["good"]


def test_keys_are_narrowed_to_algorithms() -> None:
    every = read_keys(json.dumps([SECRET, {**RSA, "kid": "r"}, {**EC, "kid": "e", "alg": "ES256"}]))

    assert every.limited([]) is every
    assert [key.algorithms for key in every.limited(["ES256", "RS256"]).keys] == [
        ("RS256", "ES256"),
        ("ES256",),
    ]
    assert [key.algorithms for key in every.limited(SYMMETRIC).keys] == [SYMMETRIC]
    assert every.limited(["what"]) == KeySet()


members = st.fixed_dictionaries(
    {"kty": st.sampled_from(["oct", "RSA", "EC", "OKP", 5])},
    optional={
        **dict.fromkeys(("k", "n", "e", "d", "x", "y"), st.text("AQBg_-", max_size=90) | st.integers()),
        "crv": st.sampled_from(["P-256", "P-384", "P-521", "Ed25519", "Ed448", "X25519", "secp256k1"]),
        "alg": st.sampled_from(["HS256", "RS256", "ES256", "EdDSA", "RSA-OAEP"]),
        "use": st.sampled_from(["sig", "enc"]),
        "kid": st.text(max_size=3) | st.integers(),
    },
)


PUBLISHED = [
    json.dumps({"keys": [RSA, {**EC, "kid": "e", "use": "sig"}, {**ED, "alg": "EdDSA"}]}),
    json.dumps([EC]),
    json.dumps({"keys": [SECRET, RSA]}),
]


@given(
    near_text(PUBLISHED, ['"kty"', '"n":', '"x":', '"AQAB"', "null", "[]", '"keys"'])
    | st.lists(members, max_size=3).map(json.dumps)
    | st.text(max_size=20)
)
@settings(max_examples=300)
def test_any_text_is_a_set_of_public_keys_or_refused(text: str) -> None:
    try:
        found = read_published(text)
    except ValueError:
        return

    assert found.keys
    assert not any(set(key.algorithms) & set(SYMMETRIC) for key in found.keys)


def _base64(number: int) -> str:
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
