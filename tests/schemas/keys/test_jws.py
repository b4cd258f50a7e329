"""Signatures of foreign tokens: every algorithm by its kind of key, signed by another library."""

import json
import warnings
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from schemas.keys.jws import BadSignature, verified_payload

RSA = RSAKey.generate_key(2048)
KEYS: dict[str, Any] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), RSA),
    "ES256": ECKey.generate_key("P-256"),
    "ES384": ECKey.generate_key("P-384"),
    "ES512": ECKey.generate_key("P-521"),
    **dict.fromkeys(("EdDSA", "Ed25519"), OKPKey.generate_key("Ed25519")),
}


def sign(key: Any, algorithm: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "EdDSA" is an old name
        return str(jws.serialize_compact({"alg": algorithm}, b'{"sub":"ada"}', key, algorithms=[algorithm]))


@pytest.mark.parametrize("algorithm", KEYS)
def test_a_signature_of_the_key_is_valid(algorithm: str):
    key = KEYS[algorithm]

    payload = verified_payload(sign(key, algorithm), key.as_dict(private=False), algorithm)

    assert json.loads(payload) == {"sub": "ada"}


@pytest.mark.parametrize("algorithm", KEYS)
def test_a_changed_token_is_rejected(algorithm: str):
    key = KEYS[algorithm]
    head, _, signature = sign(key, algorithm).split(".")

    with pytest.raises(BadSignature):
        verified_payload(f"{head}.eyJzdWIiOiJldmUifQ.{signature}", key.as_dict(private=False), algorithm)


def test_a_token_of_another_algorithm_is_rejected():
    with pytest.raises(BadSignature):
        verified_payload(sign(RSA, "RS256"), RSA.as_dict(private=False), "PS256")


def test_a_shared_secret_is_rejected():
    secret = OctKey.generate_key(256)

    with pytest.raises(BadSignature):
        verified_payload(sign(secret, "HS256"), secret.as_dict(private=True), "HS256")


@pytest.mark.parametrize("jwk", [{}, {"kty": "RSA"}, {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}])
def test_a_key_that_cannot_be_read_is_rejected(jwk: dict[str, str]):
    with pytest.raises(BadSignature):
        verified_payload(sign(RSA, "RS256"), jwk, "RS256")
