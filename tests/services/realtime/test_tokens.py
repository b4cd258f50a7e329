"""Keys and tokens, in the words of this area."""

import json
import time

import jwt
import pytest

from schemas.caller import AnonymousCaller, ServiceCaller, UserCaller
from schemas.settings.tree import Settings
from services.app import build_authenticator
from services.realtime.tokens import RealtimeTokenRejected, Tokens, identity_of_caller
from tests.services.realtime.edges import AUTH, KEYS, SECRET, token

TOKENS = Tokens(build_authenticator(Settings(auth=AUTH)))
NOW = time.time()


def signed(**claims: object) -> str:
    return jwt.encode(claims, SECRET, "HS256")


async def refused(text: str) -> str:
    with pytest.raises(RealtimeTokenRejected) as error:
        await TOKENS.read(text, NOW)
    return error.value.reason


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"role": "r"}, "InvalidJWTToken: Fields `role` and `exp` are required in JWT"),
        ({"exp": NOW + 99}, "InvalidJWTToken: Fields `role` and `exp` are required in JWT"),
        ({"role": 1, "exp": NOW + 99}, "InvalidJWTToken: Fields `role` and `exp` are required in JWT"),
        ({"role": "r", "exp": NOW - 7}, "InvalidJWTToken: Token has expired 7 seconds ago"),
        ({"role": "r", "exp": NOW - 7000}, "InvalidJWTToken: Token has expired 7000 seconds ago"),
        ({"role": "r", "exp": "x"}, "InvalidJWTToken: Token expiration time is invalid"),
        ({"role": "r", "exp": True}, "InvalidJWTToken: Token expiration time is invalid"),
    ],
)
async def test_claims_that_are_missing_or_over_are_refused(claims: dict[str, object], reason: str) -> None:
    exp = claims.get("exp", 0)
    if isinstance(exp, bool) or not isinstance(exp, int | float):  # the library signs no such claims
        text = jwt.api_jws.PyJWS().encode(json.dumps(claims).encode(), SECRET, "HS256")
    else:
        text = signed(**claims)

    assert await refused(text) == reason


async def test_decimals_blanks_and_percent_signs_are_taken() -> None:
    text = signed(role="r", exp=NOW + 9.75)

    found = await TOKENS.read(" " + text.replace(".", "%2E", 1) + "\n", NOW)

    assert (found.role, found.expires_at, found.token) == ("r", NOW + 9.75, text)
    assert text not in repr(found)
    assert "claims" not in repr(found)


@pytest.mark.parametrize("text", ["", "x", "a.b", "a.b.c.d", "..", "eyJhbGciOiJub25lIn0.e30."])
async def test_what_is_no_token_is_malformed(text: str) -> None:
    assert await refused(text) == "MalformedJWT: The token provided is not a valid JWT"


async def test_wrong_signature_is_told_apart() -> None:
    forged = jwt.encode({"role": "service_role", "exp": NOW + 99}, "x" * 40, "HS256")

    assert await refused(forged) == "JwtSignatureError: Failed to validate JWT signature"


@pytest.mark.parametrize(
    ("key", "role"),
    [(KEYS.publishable_key, "anon"), (KEYS.secret_key, "service_role"), (KEYS.anon_key, "anon"),
     (KEYS.service_role_key, "service_role"), (token(), "authenticated")],
    ids=["publishable", "secret", "anon", "service", "person"],
)  # fmt: skip
async def test_every_kind_of_key_stands_for_its_role(key: str, role: str) -> None:
    found = await TOKENS.connect(key, NOW)

    assert found.role == role
    assert (found.expires_at == float("inf")) is key.startswith("sb_")


def test_callers_whom_the_gateway_let_in_have_a_role() -> None:
    assert identity_of_caller(AnonymousCaller()).role == "anon"
    assert identity_of_caller(ServiceCaller()).role == "service_role"
    assert identity_of_caller(UserCaller(b'{"role":"x"}')).role == "x"
    assert identity_of_caller(UserCaller(b"{}")).role == "anon"


async def test_an_expired_token_in_place_of_a_key_is_refused_with_its_own_reason() -> None:
    with pytest.raises(RealtimeTokenRejected) as error:
        await TOKENS.connect(signed(role="authenticated", exp=NOW - 7), NOW)

    assert error.value.reason == "InvalidJWTToken: Token has expired 7 seconds ago"
