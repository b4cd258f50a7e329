"""ID tokens: what holds, and what attackers would like to hold."""

import base64
import hashlib
import hmac
import json
import time
from dataclasses import replace
from typing import Any

import pytest
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from tests.workers.auth.federation.providers.conftest import Abroad
from tests.workers.auth.federation.providers.stand_ins import CLIENT, EC, RSA, by_hand, key_set, signed
from workers.auth.federation.providers.client import ProviderClient
from workers.auth.federation.providers.oidc import (
    BadIdToken,
    IdTokenSigner,
    WrongAudience,
    id_token_claims,
    signer_of,
)
from workers.auth.federation.social.protocol import ProviderError

ISSUER = "https://id.example.com"
SIGNER = IdTokenSigner(ISSUER)
CLAIMS = {"iss": ISSUER, "sub": "ada"}
FOREIGN_KEY = RSAKey.generate_key(2048, {"kid": "rsa-1"}, private=True)


@pytest.fixture
def client(abroad: Abroad) -> ProviderClient:
    abroad.network.publish(ISSUER, RSA, EC)
    context = abroad.context
    return ProviderClient("one", context.outgoing, context.documents, context.clock, ids=(CLIENT, "client-2"))


@pytest.mark.parametrize("key", [RSA, EC])
async def test_a_token_of_a_published_key_holds(client: ProviderClient, key: RSAKey | ECKey):
    claims = await id_token_claims(client, signed(CLAIMS, key), SIGNER)

    assert (claims["sub"], claims["iss"]) == ("ada", ISSUER)


@pytest.mark.parametrize("algorithm", ["RS384", "RS512", "PS256"])
async def test_other_algorithms_of_the_same_kind_of_key_are_valid(client: ProviderClient, algorithm: str):
    assert await id_token_claims(client, signed(CLAIMS, RSA, alg=algorithm), SIGNER)


@pytest.mark.parametrize("audience", [CLIENT, "client-2", ["somebody", "client-2"]])
async def test_any_of_our_clients_may_be_named(client: ProviderClient, audience: object):
    assert await id_token_claims(client, signed({**CLAIMS, "aud": audience}), SIGNER)


@pytest.mark.parametrize(("claim", "ahead_s"), [("exp", -5), ("nbf", 20)])
async def test_clocks_may_differ_a_little(client: ProviderClient, claim: str, ahead_s: int):
    assert await id_token_claims(client, signed({**CLAIMS, claim: int(time.time()) + ahead_s}), SIGNER)


async def test_a_key_of_ed25519_holds_under_both_its_names(client: ProviderClient, abroad: Abroad):
    key: Any = OKPKey.generate_key("Ed25519", {"kid": "ed"}, private=True)
    abroad.network.answers["GET", f"{ISSUER}/keys"] = key_set(key)
    import warnings

    for algorithm in ("Ed25519", "EdDSA"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            token = signed(CLAIMS, key, alg=algorithm)
        assert (await id_token_claims(client, token, SIGNER))["sub"] == "ada"


@pytest.mark.parametrize("audience", ["somebody", ["somebody", "else"], [], "", None, f"{CLIENT} ", 7])
async def test_a_token_for_others_is_refused(client: ProviderClient, audience: object):
    with pytest.raises(WrongAudience):
        await id_token_claims(client, signed({**CLAIMS, "aud": audience}), SIGNER)


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": int(time.time()) - 31},
        {"exp": None},
        {"exp": "9999999999"},
        {"exp": True},
        {"nbf": int(time.time()) + 86_400},
        {"nbf": "0"},
        {"iss": "https://id.example.com/"},
        {"iss": "https://evil.example.com"},
        {"iss": None},
        {"sub": None},
        {"sub": ""},
        {"sub": {"a": 1}},
    ],
)
async def test_a_token_with_a_wrong_claim_is_refused(client: ProviderClient, claims: dict[str, object]):
    with pytest.raises(BadIdToken):
        await id_token_claims(client, signed({**CLAIMS, **claims}), SIGNER)


def whole(**more: object) -> dict[str, object]:
    return {**CLAIMS, "aud": CLIENT, "exp": int(time.time()) + 3600, **more}


async def is_rejected(client: ProviderClient, token: str) -> bool:
    try:
        await id_token_claims(client, token, SIGNER)
    except BadIdToken:
        return True
    return False


async def test_forged_tokens_are_rejected(client: ProviderClient):
    header, _, signature = signed(CLAIMS).split(".")
    changed = by_hand({}, whole(sub="eve")).split(".")[1]
    critical = {"alg": "RS256", "kid": "rsa-1", "crit": ["b64"], "b64": False}
    texts = ("", "x", "a.b.c", "..", "a.b", "é.é.é", "a.b.c.d.e", "x" * 100_000, "e30.e30.e30")
    forged = {
        "RS256 for an EC key": by_hand({"alg": "RS256", "kid": "ec-1"}, whole(), b"x" * 64),
        "PS256 for an EC key": by_hand({"alg": "PS256", "kid": "ec-1"}, whole(), b"x" * 64),
        "a foreign key of the same name": signed(CLAIMS, FOREIGN_KEY),
        "an unknown critical header": by_hand(critical, whole(), b"x" * 256),
        "a changed claim": f"{header}.{changed}.{signature}",
        **{
            name: by_hand({"alg": name, "kid": "rsa-1"}, whole())
            for name in ("none", "None", "NONE", "", "nOnE")
        },
        **{f"the text {text[:20]!r}": text for text in texts},
    }

    assert [name for name, token in forged.items() if not await is_rejected(client, token)] == []


@pytest.mark.parametrize("kid", ["rsa-1", None])
@pytest.mark.parametrize("form", ["pem", "der", "jwk", "n"])
async def test_a_public_key_is_no_shared_secret(client: ProviderClient, form: str, kid: str | None):
    secret = {
        "pem": RSA.as_pem(private=False),
        "der": RSA.as_der(private=False),
        "jwk": json.dumps(RSA.as_dict(private=False)).encode(),
        "n": str(RSA.as_dict(private=False)["n"]).encode(),
    }[form]
    header = {"alg": "HS256", **({"kid": kid} if kid else {})}
    unsigned = by_hand(header, whole()).rpartition(".")[0]
    signature = hmac.new(secret, unsigned.encode(), hashlib.sha256).digest()

    with pytest.raises(BadIdToken):
        await id_token_claims(client, by_hand(header, whole(), signature), SIGNER)


async def test_a_published_shared_secret_is_not_used(client: ProviderClient, abroad: Abroad):
    shared = OctKey.generate_key(256, {"kid": "oct"})
    abroad.network.answers["GET", f"{ISSUER}/keys"] = {"keys": [shared.as_dict(private=True)]}
    unsigned = by_hand({"alg": "HS256", "kid": "oct"}, whole()).rpartition(".")[0]
    signature = hmac.new(shared.raw_value, unsigned.encode(), hashlib.sha256).digest()

    with pytest.raises(BadIdToken):
        await id_token_claims(client, by_hand({"alg": "HS256", "kid": "oct"}, whole(), signature), SIGNER)


@pytest.mark.parametrize("place", ["jwk", "jku", "x5u", "x5c"])
async def test_a_token_brings_no_keys_of_its_own(client: ProviderClient, abroad: Abroad, place: str):
    keys = {"keys": [FOREIGN_KEY.as_dict(private=False)]}
    abroad.network.answers["GET", "https://evil.example.com/keys"] = keys
    brought = {
        "jwk": FOREIGN_KEY.as_dict(private=False),
        "jku": "https://evil.example.com/keys",
        "x5u": "https://evil.example.com/keys",
        "x5c": [base64.b64encode(FOREIGN_KEY.as_der(private=False)).decode()],
    }
    token = signed(CLAIMS, FOREIGN_KEY, **{place: brought[place]})

    with pytest.raises(BadIdToken):
        await id_token_claims(client, token, SIGNER)

    assert not [each for each in abroad.network.seen if "evil" in each.url]


async def test_keys_that_are_not_known_are_looked_for_again_but_not_at_every_token(
    client: ProviderClient, abroad: Abroad
):
    await id_token_claims(client, signed(CLAIMS), SIGNER)
    newer = RSAKey.generate_key(2048, {"kid": "rsa-2"}, private=True)
    abroad.network.answers["GET", f"{ISSUER}/keys"] = key_set(RSA, newer)

    with pytest.raises(BadIdToken):  # asked for within the minute
        await id_token_claims(client, signed(CLAIMS, newer), SIGNER)
    asked = len(abroad.network.asked(f"{ISSUER}/keys"))
    abroad.auth_pool.clock.forward(seconds=61)
    claims = await id_token_claims(client, signed(CLAIMS, newer), SIGNER)

    assert claims["sub"] == "ada"
    assert (asked, len(abroad.network.asked(f"{ISSUER}/keys"))) == (1, 2)


async def test_documents_are_kept_for_an_hour(client: ProviderClient, abroad: Abroad):
    for minutes in (0, 30, 31):
        abroad.auth_pool.clock.forward(minutes=minutes)
        await id_token_claims(client, signed({**CLAIMS, "exp": int(time.time()) + 9999}), SIGNER)

    assert len(abroad.network.asked(f"{ISSUER}/.well-known/openid-configuration")) == 2
    assert len(abroad.network.asked(f"{ISSUER}/keys")) == 2


async def test_a_token_without_a_key_id_holds_if_only_one_key_fits(client: ProviderClient, abroad: Abroad):
    assert await id_token_claims(client, signed(CLAIMS, RSA, kid=None), SIGNER)

    abroad.network.answers["GET", f"{ISSUER}/keys"] = key_set(RSA, FOREIGN_KEY)
    abroad.auth_pool.clock.forward(minutes=59, seconds=30)
    abroad.auth_pool.clock.forward(minutes=1)
    with pytest.raises(BadIdToken):
        await id_token_claims(
            client, signed({**CLAIMS, "exp": int(time.time()) + 9999}, RSA, kid=None), SIGNER
        )


@pytest.mark.parametrize("more", [{"use": "enc"}, {"alg": "RS512"}, {"kty": "oct"}, {"n": 7}])
async def test_a_key_for_something_else_is_not_used(
    client: ProviderClient, abroad: Abroad, more: dict[str, object]
):
    published = {**RSA.as_dict(private=False), **more}
    abroad.network.answers["GET", f"{ISSUER}/keys"] = {"keys": [published, "no key", None]}

    with pytest.raises(BadIdToken):
        await id_token_claims(client, signed(CLAIMS), SIGNER)


@pytest.mark.parametrize("key", [RSA, EC])
async def test_the_hash_of_the_access_token_is_checked_where_both_are_there(
    client: ProviderClient, key: RSAKey | ECKey
):
    digest = hashlib.sha256(b"access-1").digest()[:16]
    told = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    token = signed({**CLAIMS, "at_hash": told}, key)

    assert await id_token_claims(client, token, SIGNER, access_token="access-1")
    assert await id_token_claims(client, token, SIGNER)
    assert await id_token_claims(client, signed(CLAIMS, key), SIGNER, access_token="anything")
    with pytest.raises(BadIdToken):
        await id_token_claims(client, token, SIGNER, access_token="access-2")


async def test_an_issuer_must_describe_itself(client: ProviderClient, abroad: Abroad):
    abroad.network.publish(ISSUER, RSA, issuer="https://evil.example.com")
    token = signed({**CLAIMS, "iss": "https://evil.example.com"})

    with pytest.raises(ProviderError, match="another issuer"):
        await id_token_claims(client, token, SIGNER)


@pytest.mark.parametrize("answer", [{"issuer": ISSUER}, [], "x", {"issuer": ISSUER, "jwks_uri": 7}])
async def test_a_description_that_lacks_something_is_refused(
    client: ProviderClient, abroad: Abroad, answer: object
):
    abroad.network.answers["GET", f"{ISSUER}/.well-known/openid-configuration"] = answer

    with pytest.raises(ProviderError):
        await id_token_claims(client, signed(CLAIMS), SIGNER)


async def test_an_alias_of_the_issuer_is_taken(client: ProviderClient):
    signer = replace(SIGNER, aliases=("id.example.com",))

    assert await id_token_claims(client, signed({**CLAIMS, "iss": "id.example.com"}), signer)


async def test_a_tenants_tokens_name_the_tenant(client: ProviderClient, abroad: Abroad):
    abroad.network.publish(ISSUER, RSA, issuer="https://id.example.com/{tenantid}/v2.0")
    signer = replace(SIGNER, is_named_by_document=True)

    def token(issuer: str, **more: object) -> str:
        return signed({**CLAIMS, "iss": issuer, **more})

    assert await id_token_claims(client, token("https://id.example.com/t1/v2.0", tid="t1"), signer)
    for bad in (
        token("https://id.example.com/t1/v2.0", tid="t2"),
        token("https://id.example.com/t1/v2.0"),
        token("https://evil.example.com/t1/v2.0", tid="t1"),
    ):
        with pytest.raises(BadIdToken):
            await id_token_claims(client, bad, signer)


async def test_a_key_that_is_marked_with_an_issuer_signs_for_that_one_only(
    client: ProviderClient, abroad: Abroad
):
    issuer = "https://id.example.com/{tenantid}/v2.0"
    abroad.network.publish(ISSUER, RSA, issuer=issuer)
    signer = replace(SIGNER, is_named_by_document=True)
    token = signed({**CLAIMS, "iss": "https://id.example.com/t1/v2.0", "tid": "t1"})
    for owner, holds in (
        (issuer, True),
        ("https://id.example.com/t1/v2.0", True),
        ("https://id.example.com/t2/v2.0", False),
    ):
        abroad.network.answers["GET", f"{ISSUER}/keys"] = {
            "keys": [{**RSA.as_dict(private=False), "issuer": owner}]
        }
        abroad.auth_pool.clock.forward(minutes=0 if holds else 59)
        fresh = replace(client, documents=type(client.documents)())

        if holds:
            assert await id_token_claims(fresh, token, signer)
        else:
            with pytest.raises(BadIdToken):
                await id_token_claims(fresh, token, signer)


def test_the_signer_is_chosen_among_the_providers_own_only():
    first, second = IdTokenSigner("https://a.example"), IdTokenSigner("https://b.example", aliases=("b",))
    tenants = IdTokenSigner("https://c.example", is_named_by_document=True)
    evil = signed({"iss": "https://evil.example"})

    assert signer_of(signed({"iss": "https://b.example"}), (first, second)) is second
    assert signer_of(signed({"iss": "b"}), (first, second)) is second
    assert signer_of(evil, (first, tenants)) is tenants  # whose document says which issuers there are
    with pytest.raises(BadIdToken):
        signer_of(evil, (first, second))
