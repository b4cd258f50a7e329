"""The table of keys and tokens (docs/reference/platform.md, section 1), row by row."""

import base64
import json
from collections.abc import Mapping
from datetime import date

import jwt
import pytest

from schemas.caller import AnonymousCaller, Caller, RejectedCaller, ServiceCaller, TokenFault, UserCaller
from schemas.keys.hashed_keys import STARTS, new_hashed_key
from schemas.keys.tokens import KeySet, Verifier, read_keys
from schemas.settings.tree import Auth
from services.middleware.api_keys import (
    MISSING,
    UNKNOWN,
    ApiKeyRejected,
    GatewayKeys,
    identify,
    identify_by_token,
    normalized_authorization,
)
from services.supervisor.api_keys import keys_of

NOW = 1_800_000_000.0
OWN = keys_of(Auth())
ANON_KEYS = {"legacy anon": OWN.anon_key, "publishable": OWN.publishable_key}
SERVICE_KEYS = {"legacy service": OWN.service_role_key, "secret": OWN.secret_key}
KEYS: Mapping[str, tuple[str, Caller]] = {
    **{name: (key, AnonymousCaller()) for name, key in ANON_KEYS.items()},
    **{name: (key, ServiceCaller()) for name, key in SERVICE_KEYS.items()},
}


def signed(secret: str = OWN.jwt_secret, algorithm: str = "HS256", **claims: object) -> str:
    return jwt.encode(claims, secret, algorithm=algorithm)


def unsigned(**claims: object) -> str:
    parts = ({"alg": "none", "typ": "JWT"}, claims)
    texts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*texts, ""])


USER_TOKEN = signed(role="authenticated", sub="ada", exp=NOW + 60)
EXPIRED = signed(role="authenticated", exp=NOW - 3600)
FOREIGN = signed("another secret, long enough for HS256 to take", role="service_role")

platform = Verifier(read_keys(OWN.jwt_secret))
keys = GatewayKeys(
    public=(OWN.anon_key, OWN.publishable_key),
    secret=(OWN.service_role_key, OWN.secret_key),
    verifier=platform,
)


def caller(key: str | None, authorization: str | None = None, verifier: Verifier = platform) -> Caller:
    return identify(key, authorization, keys, verifier, NOW)


def refused(key: str | None, authorization: str | None = None) -> tuple[str, str]:
    with pytest.raises(ApiKeyRejected) as caught:
        caller(key, authorization)
    return caught.value.message, caught.value.hint


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize(
    "authorization",
    [None, "", "Basic YWRhOng=", "AWS4-HMAC-SHA256 Credential=x", "Token abc", "BEARER abc", "Bearerabc"],
)
def test_a_key_without_a_token_is_its_role(name: str, authorization: str | None) -> None:
    key, expected = KEYS[name]

    assert caller(key, authorization) == expected


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
def test_a_token_of_a_user_wins_over_every_key(name: str, scheme: str) -> None:
    found = caller(KEYS[name][0], f"{scheme}  {USER_TOKEN} ")

    assert isinstance(found, UserCaller)
    assert found.decoded() == {"role": "authenticated", "sub": "ada", "exp": NOW + 60}


@pytest.mark.parametrize("name", KEYS)
def test_a_key_sent_as_its_own_token_is_its_role(name: str) -> None:
    key, expected = KEYS[name]
    found = caller(key, f"Bearer {key}")

    if name == "legacy anon":  # a token like any other: its claims travel
        assert isinstance(found, UserCaller)
        assert found.decoded()["role"] == "anon"
    else:
        assert found == expected


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("opaque", [OWN.publishable_key, OWN.secret_key, "sb_secret_unknown"])
def test_an_opaque_key_is_no_token_so_that_the_api_key_decides(name: str, opaque: str) -> None:
    key, expected = KEYS[name]

    assert caller(key, f"Bearer {opaque}") == expected


def test_the_legacy_secret_key_as_a_token_is_trusted_whatever_verifies_the_area() -> None:
    elsewhere = Verifier(read_keys("the data interfaces have a secret of their own"))

    assert caller(OWN.publishable_key, f"Bearer {OWN.service_role_key}", elsewhere) == ServiceCaller()


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("", "Empty JWT is sent in Authorization header"),
        ("abc", "Expected 3 parts in JWT; got 1"),
        ("a.b.c", "JWT cryptographic operation failed"),
        (unsigned(role="service_role"), "Wrong or unsupported encoding algorithm"),
        (FOREIGN, "No suitable key or wrong key type"),
        (USER_TOKEN[:-4] + "AAAA", "No suitable key or wrong key type"),
        (EXPIRED, "JWT expired"),
        (signed(role="x", nbf=NOW + 3600), "JWT not yet valid"),
        (signed(role="x", iat=NOW + 3600), "JWT issued at future"),
        ("ключ.ключ.ключ", "JWT cryptographic operation failed"),
    ],
)
@pytest.mark.parametrize("name", ["publishable", "legacy service"])
def test_a_wrong_token_is_rejected_in_its_words_whatever_the_key(name: str, token: str, message: str) -> None:
    found = caller(KEYS[name][0], f"Bearer {token}")

    assert isinstance(found, RejectedCaller)
    assert found.message == message


def test_no_token_can_be_verified_without_a_secret() -> None:
    found = caller(OWN.publishable_key, f"Bearer {USER_TOKEN}", Verifier(KeySet()))

    assert isinstance(found, RejectedCaller)
    assert found.kind == TokenFault.NO_SECRET


@pytest.mark.parametrize("key", [None, ""])
@pytest.mark.parametrize(
    "authorization",
    [None, f"Bearer {USER_TOKEN}", f"Bearer {OWN.service_role_key}", f"Bearer {OWN.secret_key}"],
)
def test_a_request_without_a_key_is_refused_even_with_a_token(
    key: str | None, authorization: str | None
) -> None:
    assert refused(key, authorization) == MISSING


@pytest.mark.parametrize(
    "key",
    [
        "nonsense",
        "sb_publishable_unknown",
        "sb_secret_unknown",
        OWN.secret_key[:-1],
        OWN.secret_key + "x",
        OWN.secret_key.upper(),
        f"{OWN.publishable_key},{OWN.secret_key}",
        "clé-ключ-鍵",
        "\udcff\udcfe",
        "Bearer ",
        "a.b.c",
        EXPIRED,
        FOREIGN,
        unsigned(role="service_role"),
        USER_TOKEN,
        signed(role="anon", exp=NOW - 3600),
        signed(role=["anon"]),
        signed(sub="no role"),
    ],
)
@pytest.mark.parametrize("authorization", [None, f"Bearer {USER_TOKEN}"])
def test_an_unknown_key_is_refused_even_with_a_token(key: str, authorization: str | None) -> None:
    assert refused(key, authorization) == UNKNOWN


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (signed(role="anon", iss="rotated"), AnonymousCaller()),
        (signed(role="service_role", exp=NOW + 60), ServiceCaller()),
        (f"Bearer {OWN.anon_key}", AnonymousCaller()),
        (f"Bearer {OWN.secret_key}", ServiceCaller()),
    ],
)
def test_rotated_keys_and_keys_behind_the_word_bearer_are_taken(key: str, expected: Caller) -> None:
    assert caller(key) == expected


def test_keys_never_show_themselves() -> None:
    shown = repr(keys)

    assert not any(key in shown for key, _ in KEYS.values())


@pytest.mark.parametrize(
    ("sent", "spelled"),
    [
        ("BEARER abc", "Bearer abc"),
        ("bEaReR  abc", "Bearer  abc"),
        ("Bearer abc", "Bearer abc"),
        ("a.b.c", "Bearer a.b.c"),
        ("a.b.c d", "a.b.c d"),
        ("Basic YWRhOng=", "Basic YWRhOng="),
        ("", ""),
        (None, None),
    ],
)
def test_storage_takes_the_scheme_in_any_case_or_left_out(sent: str | None, spelled: str | None) -> None:
    assert normalized_authorization(sent) == spelled


def test_a_token_alone_is_whom_it_names() -> None:
    def found(authorization: str | None) -> Caller:
        return identify_by_token(authorization, keys, platform, NOW)

    assert isinstance(found(f"Bearer {USER_TOKEN}"), UserCaller)
    assert found(f"Bearer {OWN.service_role_key}") == ServiceCaller()
    assert isinstance(found(f"Bearer {EXPIRED}"), RejectedCaller)
    assert isinstance(found(f"Bearer {FOREIGN}"), RejectedCaller)
    assert isinstance(found("Bearer "), RejectedCaller)


@pytest.mark.parametrize(
    "authorization", [None, "", "Basic YWRhOng=", f"Bearer {OWN.secret_key}", f"Bearer {OWN.publishable_key}"]
)
def test_neither_key_nor_token_is_refused(authorization: str | None) -> None:
    with pytest.raises(ApiKeyRejected) as caught:
        identify_by_token(authorization, keys, platform, NOW)

    assert (caught.value.message, caught.value.hint) == MISSING


def test_a_created_key_is_valid_until_it_is_revoked() -> None:
    own = GatewayKeys(public=(OWN.anon_key,), secret=(OWN.secret_key,), verifier=platform)
    (public, public_value), (secret, secret_value) = (
        new_hashed_key(kind, date(2026, 12, 1)) for kind in STARTS
    )
    values = {"shop": public_value, "worker": secret_value}

    def found(key: str, now: float = NOW) -> Caller:
        return identify(key, f"Bearer {secret}", own, platform, now)

    own.use_hashed(values)
    assert [found(public), found(secret), found(f"Bearer {secret}")] == [
        AnonymousCaller(),
        ServiceCaller(),
        ServiceCaller(),
    ]
    assert own.last_used == {"shop": NOW, "worker": NOW}
    found(secret, NOW + 1)
    own.use_hashed(dict(values))
    assert own.last_used == {"shop": NOW, "worker": NOW + 1}, "what is remembered is noted as well"

    own.use_hashed({"shop": public_value})
    assert found(public) == AnonymousCaller()
    for unknown in (secret, secret_value.split()[1], f"sb_secret_{secret_value.split()[1]}"):
        with pytest.raises(ApiKeyRejected):
            found(unknown)
    assert own.last_used == {"shop": NOW}
