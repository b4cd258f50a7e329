"""Access tokens signed with every kind of key, and what is shown of the keys. Reference "auth", section 3.2."""

import contextlib
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, HMACAlgorithm, OKPAlgorithm, RSAAlgorithm

from schemas.caller import UserCaller
from schemas.keys.signing import SigningKey, public_keys, read_signing_key, sign
from schemas.keys.tokens import Verifier, read_keys

SECRET = "the secret of these tests, which is long enough"
NOW = 1_800_000_000
CLAIMS = {"sub": "1", "exp": NOW + 60}
_RSA = rsa.generate_private_key(65537, 2048)
_EDWARDS = ed25519.Ed25519PrivateKey.generate()
KEYS: dict[str, dict[str, Any]] = {
    "RS256": RSAAlgorithm.to_jwk(_RSA, as_dict=True),
    "RS512": {**RSAAlgorithm.to_jwk(_RSA, as_dict=True), "alg": "RS512"},
    "ES256": ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256R1()), as_dict=True),
    "ES512": ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP521R1()), as_dict=True),
    "EdDSA": OKPAlgorithm.to_jwk(_EDWARDS, as_dict=True),
    "HS256": HMACAlgorithm.to_jwk(SECRET, as_dict=True),
}
"""A private JWK for each algorithm; RSA and EC keys as the library writes them, without `alg`."""
ASYMMETRIC = [name for name in KEYS if name != "HS256"]
_PRIVATE = {"d", "p", "q", "dp", "dq", "qi", "k", "oth"}


def keys(*entries: dict[str, Any]) -> str:
    return json.dumps(entries)


def without(entry: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in names}


for _name in KEYS:
    KEYS[_name] = without(KEYS[_name], "key_ops")


def test_the_shared_secret_signs_with_hs256():
    token = sign(CLAIMS, SigningKey(SECRET))

    assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "JWT"}
    assert Verifier(read_keys(SECRET)).verify(token, NOW) == UserCaller(
        json.dumps(CLAIMS, separators=(",", ":")).encode()
    )


def test_the_id_of_a_key_stands_in_its_tokens():
    assert jwt.get_unverified_header(sign(CLAIMS, SigningKey(SECRET, "HS256", "k1")))["kid"] == "k1"


@pytest.mark.parametrize("secret", [SECRET, SECRET.encode()])
@given(st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.booleans())))
def test_a_token_of_a_shared_secret_is_that_of_the_library(
    secret: str | bytes, claims: dict[str, object]
) -> None:
    made = jwt.encode({"own": claims}, secret, algorithm="HS256", headers={"kid": "k1"}, sort_headers=False)

    assert sign({"own": claims}, SigningKey(secret, "HS256", "k1")) == made


def test_a_secret_that_is_a_public_key_does_not_sign():
    with pytest.raises(jwt.InvalidKeyError):
        sign(
            CLAIMS,
            SigningKey(_EDWARDS.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)),
        )


def test_a_secret_as_short_as_the_settings_allow_signs_without_a_warning():
    assert sign(CLAIMS, SigningKey("x" * 16)).count(".") == 2


@pytest.mark.parametrize("name", KEYS)
def test_a_token_of_each_kind_of_key_is_verified_by_the_gateway(name: str):
    text = keys({**KEYS[name], "kid": "mine"})
    token = sign(CLAIMS, read_signing_key(text))

    assert jwt.get_unverified_header(token) == {"alg": name, "typ": "JWT", "kid": "mine"}
    assert isinstance(Verifier(read_keys(text)).verify(token, NOW), UserCaller)


@pytest.mark.parametrize("name", ASYMMETRIC)
def test_the_public_half_that_is_shown_verifies_tokens(name: str):
    text = keys({**KEYS[name], "kid": "mine"})
    shown = public_keys(text)
    token = sign(CLAIMS, read_signing_key(text))

    assert isinstance(Verifier(read_keys(json.dumps({"keys": shown}))).verify(token, NOW), UserCaller)
    assert shown[0] | {"alg": name, "use": "sig", "key_ops": ["verify"], "kid": "mine"} == shown[0]


@pytest.mark.parametrize("name", ASYMMETRIC)
def test_nothing_private_is_shown(name: str):
    text = keys({**KEYS[name], "secret": "x", "key_ops": ["sign"]})

    assert not _PRIVATE & set(public_keys(text)[0])
    assert "secret" not in public_keys(text)[0]


def test_keys_with_a_shared_secret_are_never_shown():
    assert public_keys(keys(KEYS["HS256"])) == []
    assert public_keys("") == []


def test_the_key_with_sign_among_its_operations_signs():
    standby = {**KEYS["ES256"], "key_ops": ["verify"], "kid": "a"}
    signer = {**KEYS["EdDSA"], "key_ops": ["sign", "verify"], "kid": "b"}

    assert read_signing_key(keys(standby, signer)).id == "b"
    assert [each["kid"] for each in public_keys(keys(standby, signer))] == ["a", "b"]


def test_without_operations_the_first_signs():
    assert read_signing_key(keys({**KEYS["ES256"], "kid": "a"}, {**KEYS["RS256"], "kid": "b"})).id == "a"


def test_a_set_and_a_single_key_are_read_too():
    assert read_signing_key(json.dumps({"keys": [KEYS["ES256"]]})).algorithm == "ES256"
    assert read_signing_key(json.dumps(KEYS["ES256"])).algorithm == "ES256"


P384 = ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP384R1()), as_dict=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            keys({**KEYS["ES256"], "key_ops": ["sign"]}, {**KEYS["RS256"], "key_ops": ["sign"]}),
            "only one key",
        ),
        (keys({**KEYS["ES256"], "key_ops": ["verify"]}), "must have `sign`"),
        (keys({**KEYS["ES256"], "key_ops": "sign"}), "must have `sign`"),
        (keys(without(KEYS["ES256"], "d")), "private half"),
        (keys(without(KEYS["RS256"], *_PRIVATE)), "private half"),
        (keys(without(KEYS["EdDSA"], "d")), "private half"),
        (keys(P384), "private half"),
        (keys({**P384, "alg": "ES384"}), "one of RS256"),
        (keys({**KEYS["ES256"], "alg": "ES512"}), "private half"),
        (keys({**KEYS["ES256"], "alg": "RS256"}), "private half"),
        (keys({**KEYS["HS256"], "alg": "none"}), "one of RS256"),
        (keys({**KEYS["ES256"], "alg": 7}), "one of RS256"),
        (keys({"kty": "oct"}), "cannot be read"),
        (keys({"kty": "what"}), "one of RS256"),
        (keys({}), "one of RS256"),
        ("[]", "empty"),
        ('{"keys": []}', "empty"),
        ('{"keys": 7}', "empty"),
        ("", "JSON list"),
        ("[7]", "JSON list"),
        ("[" * 100_000, "JSON list"),
    ],
)
def test_a_key_that_cannot_sign_is_refused_at_once(text: str, words: str):
    with pytest.raises(ValueError, match=words):
        read_signing_key(text)


def test_no_words_and_no_repr_hold_a_key():
    entry = {**KEYS["ES256"], "alg": "ES512"}
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - any words, as long as the key is not among them
        read_signing_key(keys(entry))

    assert entry["d"] not in str(caught.value)
    assert caught.value.__cause__ is None
    assert SECRET not in repr(SigningKey(SECRET))


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["sign", "oct", "EC", "RSA", "OKP", "AA", "P-256"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kty", "crv", "k", "x", "y", "n", "e", "d", "alg", "keys", "key_ops"]), inner
        )
    ),
    max_leaves=12,
)


@given(_json)
def test_any_json_is_a_key_or_refused(value: object):
    for read in (read_signing_key, public_keys):
        with contextlib.suppress(ValueError):
            read(json.dumps(value))
