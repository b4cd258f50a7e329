"""ID tokens, and the whole way as a client library goes it. Reference, section 15; OpenID Connect Core, 2 and 3.1.3.7."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import pytest
import requests
from aiohttp import web
from aiohttp.test_utils import RawTestServer
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.jwk import KeySet

from schemas.http import Headers, Request
from tests.workers.auth.auth_pool import ANYBODY, PASSWORD, SignedInUser, address
from tests.workers.auth.federation.oauth_server.flow import REDIRECT, Flow, query_of
from tests.workers.rest.bodies import Inline
from workers.auth.worker import AuthWorker

VERIFIER = "v" * 64


@asynccontextmanager
async def reachable(flow: Flow) -> AsyncIterator[Flow]:
    """Let client libraries reach the accounts by HTTP, as through the gateway."""

    async def handle(request: web.BaseRequest) -> web.Response:
        data = await request.read()
        headers: Headers = [(name.lower(), value) for name, value in request.headers.items()]
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        asked = Request(
            "req-2",
            request.method,
            request.rel_url.raw_path.removeprefix("/auth/v1"),
            request.rel_url.raw_query_string,
            headers,
            flow.caller(token) if scheme == "Bearer" else ANYBODY,
            body=data,
            client="192.0.2.8",
        )
        given = await AuthWorker(there.auth_pool.context).answer(asked, Inline(data))  # type: ignore[arg-type]  # as Body is read
        return web.Response(status=given.status, headers=given.headers, body=given.body)

    async with RawTestServer(handle) as server:
        there = Flow(flow.auth_pool.having(external_url=str(server.make_url("/auth/v1"))))
        yield there


async def sign_up(flow: Flow) -> SignedInUser:
    """Make an account in a pool auth whose tokens have a key of their own."""
    body = await flow.auth_pool.ok("POST", "/signup", {"email": address(), "password": PASSWORD})
    return SignedInUser(body, flow.caller(body["access_token"]))


async def claims_by(flow: Flow, id_token: str, client_id: str) -> dict[str, Any]:
    """Verify an ID token as a client does, with nothing but the public keys."""
    keys = KeySet.import_key_set(await flow.auth_pool.ok("GET", "/.well-known/jwks.json"))
    token = jwt.decode(id_token, keys, algorithms=["ES256"])
    options = {"iss": {"value": flow.auth_pool.context.settings.external_url}, "aud": {"value": client_id}}
    claims = CodeIDToken(token.claims, token.header, options)
    claims.validate(now=int(flow.auth_pool.clock()))
    return dict(token.claims)


def library(document: dict[str, Any], method: str) -> OAuth2Session:
    """Register a client, as the code of an application does."""
    told = {"redirect_uris": [REDIRECT], "token_endpoint_auth_method": method, "client_name": "A library"}
    made = requests.post(document["registration_endpoint"], json=told, timeout=60).json()
    return OAuth2Session(
        made["client_id"],
        made.get("client_secret"),
        token_endpoint_auth_method=method,
        redirect_uri=REDIRECT,
        scope="openid email profile",
        code_challenge_method="S256",
        token_endpoint=document["token_endpoint"],
    )


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", "none"])
async def test_a_client_library_goes_the_whole_way(asymmetric: Flow, method: str):
    async with reachable(asymmetric) as flow:
        signed = await sign_up(flow)
        issuer = flow.auth_pool.context.settings.external_url
        found = await asyncio.to_thread(
            requests.get, f"{issuer}/.well-known/openid-configuration", timeout=60
        )
        document = found.json()
        client = await asyncio.to_thread(library, document, method)
        url, state = client.create_authorization_url(
            document["authorization_endpoint"], code_verifier=VERIFIER, nonce="a nonce"
        )
        sent = await asyncio.to_thread(requests.get, url, allow_redirects=False, timeout=60)
        id = query_of(sent.headers["location"])["authorization_id"]
        shown = await flow.details(id, signed)
        path = f"/oauth/authorizations/{id}/consent"
        back = await flow.auth_pool.ok("POST", path, {"action": "approve"}, signed.caller)

        token = await asyncio.to_thread(
            client.fetch_token,
            authorization_response=back["redirect_url"],
            state=state,
            code_verifier=VERIFIER,
        )
        info = (await asyncio.to_thread(client.get, document["userinfo_endpoint"])).json()
        again = await asyncio.to_thread(client.refresh_token, document["token_endpoint"])
        claims = await claims_by(flow, token["id_token"], client.client_id)
        later = await claims_by(flow, again["id_token"], client.client_id)

    assert shown["client"]["name"] == "A library"
    assert claims["client_id"] == client.client_id
    assert claims["sub"] == info["sub"] == later["sub"] == signed.id
    assert claims["email"] == info["email"] == later["email"] == signed.email
    assert claims["nonce"] == "a nonce"
    assert claims["exp"] - claims["iat"] == 3600
    assert again["refresh_token"] != token["refresh_token"]
    assert {"nonce", "auth_time"}.isdisjoint(later)


async def test_an_id_token_tells_when_the_user_signed_in(asymmetric: Flow):
    flow, signed, client = asymmetric, await sign_up(asymmetric), await asymmetric.client()
    kept = (await flow.auth_pool.ok("GET", "/user", None, signed.caller))["last_sign_in_at"]
    body = await flow.tokens(client, signed, scope="openid")

    claims = await claims_by(flow, body["id_token"], client["client_id"])

    assert set(claims) == {"iss", "sub", "aud", "exp", "iat", "auth_time", "client_id"}
    assert claims["auth_time"] == int(datetime.fromisoformat(kept).timestamp())


async def test_without_openid_there_is_none(asymmetric: Flow):
    signed = await sign_up(asymmetric)

    assert "id_token" not in await asymmetric.tokens(await asymmetric.client(), signed, scope="email")


async def test_a_shared_secret_signs_none(flow: Flow):
    signed = await flow.auth_pool.sign_up()

    body = await flow.tokens(await flow.client(), signed, scope="openid email")

    assert "id_token" not in body
    assert body["scope"] == "openid email"
