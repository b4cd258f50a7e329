"""What every area of a whole platform has in common over HTTP: HEAD, challenges, exposed headers, compression, errors of auth."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.platform import Platform

_QUERY = "query=%7B__typename%7D"


@pytest.fixture
async def client(running_platform: Platform) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"apikey": running_platform.values["SERVICE_ROLE_KEY"], "Accept-Encoding": "identity"}
    async with aiohttp.ClientSession(running_platform.values["API_URL"], headers=headers) as session:
        yield session


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/health/live",
        "/rest/v1/",
        "/rest/v1/journal?limit=1",
        f"/graphql/v1?{_QUERY}",
        "/auth/v1/health",
        "/auth/v1/settings",
        "/auth/v1/.well-known/jwks.json",
        "/.well-known/oauth-authorization-server",
        "/auth/v1/admin/users",
        "/storage/v1/status",
        "/storage/v1/bucket",
        "/realtime/v1/api/ping",
        "/functions/v1/_internal/health",
    ],
)
async def test_head_is_get_without_its_body(client: aiohttp.ClientSession, path: str) -> None:
    async with client.get(path) as got:
        await got.read()
    async with client.head(path) as headed:
        body = await headed.read()

    assert (headed.status, body) == (got.status, b"")
    assert headed.status < 500
    for name in ("Content-Type", "Content-Range", "Cache-Control", "Access-Control-Expose-Headers"):
        assert headed.headers.getall(name, []) == got.headers.getall(name, [])


@pytest.mark.parametrize("path", ["/rest/v1/journal", "/graphql/v1", "/auth/v1/user", "/storage/v1/bucket"])
async def test_a_missing_key_is_answered_with_a_challenge(running_platform: Platform, path: str) -> None:
    async with (
        aiohttp.ClientSession(running_platform.values["API_URL"]) as session,
        session.get(path) as answer,
    ):
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize(
    ("version", "body"),
    [
        ({}, {"code": 401, "error_code": "no_authorization", "msg": "Invalid API key"}),
        (
            {"X-Supabase-Api-Version": "2024-01-01"},
            {"code": "no_authorization", "message": "Invalid API key"},
        ),
    ],
)
async def test_the_gateway_answers_for_auth_as_auth_does(
    running_platform: Platform, version: dict[str, str], body: dict[str, object]
) -> None:
    headers = {"apikey": "nonsense", **version}
    async with (
        aiohttp.ClientSession(running_platform.values["API_URL"]) as session,
        session.get("/auth/v1/user", headers=headers) as answer,
    ):
        assert body.items() <= (await answer.json()).items()
        assert answer.headers["x-sb-error-code"] == "no_authorization"
        assert answer.headers.get("x-supabase-api-version") == version.get("X-Supabase-Api-Version")


async def test_rows_are_compressed_and_answers_of_auth_are_not(client: aiohttp.ClientSession) -> None:
    accept = {"Accept-Encoding": "gzip"}
    user = {
        "email": "long@example.com",
        "password": "a long password",
        "user_metadata": {"note": "word " * 1000},
    }
    async with client.post("/auth/v1/admin/users", json=user) as answer:
        assert answer.status == 200

    codings = []
    for path in ("/rest/v1/", "/auth/v1/admin/users"):
        async with client.get(path, headers=accept) as answer:
            assert len(await answer.read()) > 1024
            codings.append(
                (answer.headers.get("Content-Encoding"), "Accept-Encoding" in answer.headers.get("Vary", ""))
            )

    assert codings[0][0] == "gzip"
    assert codings[1] == (None, False)
