"""Signatures of tokens that another issuer signed, such as the ID tokens of OpenID Connect. Pure.

`tokens.py` verifies access tokens against configured keys; here the caller has chosen one public JWK and one algorithm. The
algorithm is never taken from the token alone: the caller checks that it fits the key (RFC 8725, 3.1), so that a public key
is not used as a shared secret. Source: RFC 7515, 7517, 7518; RFC 8037 and RFC 9864 for Ed25519.
"""

import warnings
from collections.abc import Mapping

import jwt
from jwt.algorithms import OKPAlgorithm
from jwt.exceptions import PyJWTError
from jwt.warnings import InsecureKeyLengthWarning

from schemas.keys.token_keys import ASYMMETRIC

_jws = jwt.api_jws.PyJWS(algorithms=[*ASYMMETRIC])
_jws.register_algorithm(
    "Ed25519", OKPAlgorithm()
)  # the name of RFC 9864 for what "EdDSA" means with such a key


class BadSignature(ValueError):
    """A key did not sign a token, or the key or the token cannot be read."""


def verified_payload(token: str, jwk: Mapping[str, object], algorithm: str) -> bytes:
    """Return the payload of a token that the public `jwk` signed with `algorithm`. Raises: BadSignature."""
    try:
        key = jwt.PyJWK(dict(jwk)).key  # the algorithm is given below: the JWK tells only the kind of key
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InsecureKeyLengthWarning)  # its issuer chose the length
            payload: bytes = _jws.decode_complete(token, key, algorithms=[algorithm])["payload"]
            return payload
    except (PyJWTError, ValueError, TypeError, LookupError, AttributeError):
        raise BadSignature("the key did not sign this token") from None
