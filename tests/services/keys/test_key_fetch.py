"""What is fetched of an issuer, and what is not taken from it."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from services.keys.issuers import ThirdPartyIssuer
from services.keys.key_fetch import MOST_BYTES, KeyClient, KeysNotRead
from tests.broker.server import free_port
from tests.services.keys.issuer import DISCOVERY, KEYS, Issuer, pair


@pytest_asyncio.fixture
async def publications() -> AsyncIterator[KeyClient]:
    one = KeyClient()
    yield one
    await one.close()


def foreign(issuer: Issuer, *, discovered: bool = False) -> ThirdPartyIssuer:
    return ThirdPartyIssuer("test", issuer.url, "" if discovered else issuer.url + KEYS)


async def refused(publications: KeyClient, one: ThirdPartyIssuer) -> str:
    with pytest.raises(KeysNotRead) as caught:
        await publications.keys(one)
    return str(caught.value)


async def test_keys_are_read_at_the_address_that_is_known(issuer: Issuer, publications: KeyClient) -> None:
    found = await publications.keys(foreign(issuer))

    assert [key.id for key in found.keys] == ["one"]
    assert issuer.asked == {KEYS: 1}


async def test_keys_are_found_by_discovery(issuer: Issuer, publications: KeyClient) -> None:
    found = await publications.keys(foreign(issuer, discovered=True))

    assert [key.id for key in found.keys] == ["one"]
    assert issuer.asked == {DISCOVERY: 1, KEYS: 1}


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        {"issuer": "https://another.example"},
        {"issuer": None},
    ],
)
async def test_a_discovery_document_of_somebody_else_is_not_believed(
    issuer: Issuer, publications: KeyClient, document: Any
) -> None:
    issuer.documents[DISCOVERY] = document

    assert await refused(publications, foreign(issuer, discovered=True))
    assert issuer.asked[KEYS] == 0


async def test_an_issuer_with_another_slash_is_another_one(issuer: Issuer, publications: KeyClient) -> None:
    issuer.documents[DISCOVERY] = {"issuer": issuer.url + "/", "jwks_uri": issuer.url + KEYS}

    assert "another issuer" in await refused(publications, foreign(issuer, discovered=True))


@pytest.mark.parametrize(
    "address",
    [None, 5, "", "/keys", "http://169.254.169.254/latest", "file:///etc/passwd", "ftp://a.example/k"],
)
async def test_an_address_of_keys_that_is_no_https_is_not_asked(
    issuer: Issuer, publications: KeyClient, address: Any
) -> None:
    issuer.discover(jwks_uri=address)

    assert "names no address of keys" in await refused(publications, foreign(issuer, discovered=True))


async def test_a_redirect_is_not_followed(issuer: Issuer, publications: KeyClient) -> None:
    issuer.documents["/elsewhere"] = issuer.documents[KEYS]
    issuer.documents[KEYS] = lambda _: web.Response(status=302, headers={"location": "/elsewhere"})

    assert await refused(publications, foreign(issuer)) == "it answered with status 302"
    assert issuer.asked["/elsewhere"] == 0


async def test_a_redirect_of_the_discovery_document_is_not_followed(
    issuer: Issuer, publications: KeyClient
) -> None:
    issuer.documents[DISCOVERY] = lambda _: web.Response(status=307, headers={"location": KEYS})

    assert await refused(publications, foreign(issuer, discovered=True)) == "it answered with status 307"
    assert issuer.asked[KEYS] == 0


async def test_a_huge_key_set_is_not_read_to_its_end(issuer: Issuer, publications: KeyClient) -> None:
    issuer.documents[KEYS] = json.dumps({"keys": [issuer.key.public], "x": "y" * MOST_BYTES}).encode()

    assert "longer than" in await refused(publications, foreign(issuer))


async def test_a_key_set_with_very_many_keys_is_refused(issuer: Issuer, publications: KeyClient) -> None:
    issuer.publish(*[{**issuer.key.public, "kid": str(number)} for number in range(65)])

    assert await refused(publications, foreign(issuer)) == "the key set holds more than 64 keys"


async def test_compressed_answers_are_not_unpacked(issuer: Issuer, publications: KeyClient) -> None:
    issuer.documents[KEYS] = lambda _: web.Response(body=b"\x1f\x8b", headers={"content-encoding": "gzip"})

    assert await refused(publications, foreign(issuer))


@pytest.mark.parametrize(
    "keys",
    [
        [],
        [{"kty": "oct", "kid": "one", "k": "c2VjcmV0LXRoYXQtaXMtbG9uZy1lbm91Z2gtZm9yLWl0", "alg": "HS256"}],
        [{"kty": "RSA", "n": "AQAB", "e": "AQAB"}],
        [{**pair("x").public, "use": "enc"}],
    ],
)
async def test_a_key_set_without_a_public_key_of_use_is_refused(
    issuer: Issuer, publications: KeyClient, keys: list[dict[str, Any]]
) -> None:
    issuer.documents[KEYS] = {"keys": keys}

    assert "holds no public key" in await refused(publications, foreign(issuer))


async def test_shared_secrets_and_foreign_kinds_beside_a_good_key_are_passed_over(
    issuer: Issuer, publications: KeyClient
) -> None:
    secret = {"kty": "oct", "kid": "secret", "k": "AAAA", "alg": "HS256"}
    issuer.publish(secret, {"kty": "??"}, issuer.key.public, {"kty": "RSA"})

    assert [key.id for key in (await publications.keys(foreign(issuer))).keys] == ["one"]


async def test_an_issuer_that_is_silent_is_given_up(issuer: Issuer) -> None:
    issuer.gate = asyncio.Event()
    impatient = KeyClient(timeout_s=0.05)

    assert await refused(impatient, foreign(issuer)) == "no answer within 0.05 s"
    await impatient.close()


async def test_an_issuer_that_is_away_is_told_without_its_words(publications: KeyClient) -> None:
    gone = ThirdPartyIssuer("test", "x", f"http://127.0.0.1:{free_port()}/keys")

    assert await refused(publications, gone) == "no connection could be made, or it broke"
