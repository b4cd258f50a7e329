"""The steps of a rotation, on lists of keys as people have them."""

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from hypothesis import given, settings
from hypothesis import strategies as st
from jwt.algorithms import OKPAlgorithm, RSAAlgorithm

from schemas.caller import RejectedCaller, UserCaller
from schemas.keys.key_rotation import RotationStep, list_text, new_list, rotate
from schemas.keys.signing import new_signing_key, public_keys, read_signing_key, sign
from schemas.keys.tokens import Verifier, read_keys
from tests.fuzz.mutate import near_text

NOW = 1_800_000_000
SECRET = {
    "kty": "oct",
    "kid": "legacy",
    "k": "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3JldA",
    "alg": "HS256",
}
RSA = {**RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 2048), as_dict=True), "kid": "r", "alg": "RS256"}
ED = {**OKPAlgorithm.to_jwk(ed25519.Ed25519PrivateKey.generate(), as_dict=True), "kid": "ed", "alg": "EdDSA"}


def entries(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text)
    return found


def signers(text: str) -> list[str]:
    return [entry["kid"] for entry in entries(text) if "sign" in entry["key_ops"]]


def token(text: str) -> str:
    return sign({"exp": NOW + 60}, read_signing_key(text))


def is_taken(token: str, text: str) -> bool:
    return isinstance(Verifier(read_keys(text)).verify(token, NOW), UserCaller)


def test_a_new_list_has_one_key_that_signs() -> None:
    [key] = entries(new_list())

    assert (key["kty"], key["crv"], key["alg"], key["use"]) == ("EC", "P-256", "ES256", "sig")
    assert key["key_ops"] == ["sign", "verify"]
    assert key["d"]
    assert key["kid"]
    assert read_signing_key(new_list()).id != key["kid"]


@pytest.mark.parametrize("first", [None, RSA, ED], ids=["ES256", "RS256", "EdDSA"])
def test_a_whole_rotation_keeps_every_token_as_long_as_its_key_is_there(first: dict[str, Any] | None) -> None:
    zero = new_list() if first is None else list_text([{**first, "key_ops": ["sign", "verify"]}])
    added = rotate(zero)
    moved = rotate(added.text)
    dropped = rotate(moved.text)
    old, new = token(zero), token(moved.text)

    assert [each.step for each in (added, moved, dropped)] == [
        RotationStep.ADDED,
        RotationStep.MOVED,
        RotationStep.DROPPED,
    ]
    assert signers(zero) == signers(added.text) != signers(moved.text) == signers(dropped.text)
    assert len(entries(dropped.text)) == 1
    assert token(added.text).partition(".")[0] == old.partition(".")[0]
    for text in (zero, added.text, moved.text):
        assert is_taken(old, text)
    for text in (added.text, moved.text, dropped.text):
        assert is_taken(new, text)
    assert isinstance(Verifier(read_keys(dropped.text)).verify(old, NOW), RejectedCaller)


def test_everybody_sees_the_standby_before_it_signs() -> None:
    added = rotate(new_list())

    assert len(public_keys(added.text)) == 2
    assert {key["kid"] for key in public_keys(added.text)} >= set(signers(rotate(added.text).text))


def test_a_key_that_has_stopped_signing_has_no_private_half() -> None:
    moved = rotate(rotate(list_text([{**RSA, "key_ops": ["sign"]}])).text)
    old = next(entry for entry in entries(moved.text) if entry["kid"] == "r")

    assert set(old) == {"kty", "n", "e", "kid", "alg", "key_ops"}
    assert old["key_ops"] == ["verify"]


def test_the_order_of_the_list_does_not_matter() -> None:
    added = rotate(new_list())
    backwards = list_text([*reversed(entries(added.text))])

    assert rotate(backwards).step is RotationStep.MOVED
    assert signers(rotate(backwards).text) == signers(rotate(added.text).text)


def test_a_single_key_without_operations_signs_and_says_so_from_then_on() -> None:
    added = rotate(json.dumps({name: RSA[name] for name in RSA if name != "key_ops"}))

    assert signers(added.text) == ["r"]
    assert rotate(added.text).step is RotationStep.MOVED


def test_a_set_of_keys_becomes_a_list() -> None:
    assert len(entries(rotate(json.dumps({"keys": entries(new_list())})).text)) == 2


def test_shared_secrets_that_only_verify_stay_through_a_rotation() -> None:
    text = list_text([*entries(new_list()), {**SECRET, "key_ops": ["verify"]}])
    for _ in range(3):
        text = rotate(text).text
        assert {**SECRET, "key_ops": ["verify"]} in entries(text)


def test_from_a_shared_secret_to_a_key_pair_there_are_two_steps() -> None:
    zero = list_text([{**SECRET, "key_ops": ["sign", "verify"]}])
    moved = rotate(rotate(zero).text)

    assert (moved.step, moved.is_last) == (RotationStep.MOVED, True)
    assert is_taken(token(zero), moved.text)
    assert {**SECRET, "key_ops": ["verify"]} in entries(moved.text)
    assert rotate(moved.text).step is RotationStep.ADDED


def test_keys_for_encryption_are_left_alone() -> None:
    other = {**RSA, "kid": "enc", "use": "enc", "alg": "RSA-OAEP", "key_ops": ["decrypt"]}
    text = list_text([*entries(new_list()), other])
    for _ in range(3):
        text = rotate(text).text
        assert other in entries(text)


ONE = new_signing_key()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "JSON list"),
        ("[", "JSON list"),
        ("[]", "empty"),
        ("[7]", "JSON list"),
        ('{"keys": 7}', "empty"),
        (list_text([{**ONE, "key_ops": ["verify"]}]), "must have `sign`"),
        (list_text([ONE, {**new_signing_key(), "key_ops": ["sign"]}]), "only one key"),
        (list_text([{name: ONE[name] for name in ONE if name != "d"}]), "no private half"),
        (list_text([ONE, {"kty": "what", "kid": "b"}]), "`kty` must be one of"),
        (list_text([ONE, {"kty": "RSA", "kid": "b", "n": "AQAB", "e": "AQAB"}]), "key 2 cannot be used"),
        (list_text([ONE, {**new_signing_key(), "kid": ONE["kid"], "key_ops": ["verify"]}]), "every kid"),
        (list_text([{**ONE, "kid": 7}]), "every kid"),
        (
            list_text([ONE, *({**new_signing_key(), "key_ops": ["verify"]} for _ in "ab")]),
            "more than one key",
        ),
        (
            list_text([ONE, {**RSA, "alg": "RS384", "key_ops": ["verify"]}]),
            "the key that signs must be of one of",
        ),
    ],
)
def test_a_list_that_is_malformed_is_refused_in_words_that_hold_no_key(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        rotate(text)

    assert str(ONE["d"]) not in str(caught.value)


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["sign", "verify", "EC", "oct", "AAAA", "P-256"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kty", "crv", "k", "x", "y", "d", "alg", "kid", "keys", "key_ops"]), inner
        )
    ),
    max_leaves=12,
)


LISTS = [
    new_list(),
    rotate(new_list()).text,
    rotate(rotate(new_list()).text).text,
    *(list_text([{**key, "key_ops": ["sign", "verify"]}]) for key in (SECRET, RSA, ED)),
]


@given(
    _json.map(json.dumps) | near_text(LISTS, ['"sign"', '"verify"', '"ES256"', '"oct"', '"d":', "[]", "{}"])
)
@settings(deadline=None)
def test_any_text_is_rotated_to_a_list_that_works_or_refused(text: str) -> None:
    try:
        done = rotate(text)
    except ValueError:
        return

    assert read_signing_key(done.text)
