"""POST /oauth/clients/register. Reference, section 15; RFC 7591, 3."""

import json
import uuid
from typing import Any

import pytest

from tests.workers.auth.federation.oauth_server.flow import REDIRECT, Flow
from workers.auth.model.codes import hash_token


async def register(flow: Flow, **told: object) -> tuple[int, Any]:
    response = await flow.auth_pool.send("POST", "/oauth/clients/register", told)
    return response.status, json.loads(response.body)


async def test_a_client_registers_itself(flow: Flow):
    status, made = await register(
        flow,
        redirect_uris=[REDIRECT, "com.example.app:/callback"],
        client_name="My application",
        client_uri="https://client.example/",
        logo_uri="https://client.example/logo.png",
        contacts=["nobody reads this"],
    )
    kept = await flow.auth_pool.value(
        "select client_secret_hash from auth.oauth_clients where id = $1", uuid.UUID(made["client_id"])
    )

    assert status == 201
    assert kept == hash_token(made["client_secret"])
    assert len(made["client_secret"]) == 43
    assert made == {
        "client_id": made["client_id"],
        "client_secret": made["client_secret"],
        "client_type": "confidential",
        "redirect_uris": [REDIRECT, "com.example.app:/callback"],
        "token_endpoint_auth_method": "client_secret_basic",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "client_name": "My application",
        "client_uri": "https://client.example/",
        "logo_uri": "https://client.example/logo.png",
        "registration_type": "dynamic",
        "created_at": made["created_at"],
        "updated_at": made["created_at"],
        "client_id_issued_at": made["client_id_issued_at"],
        "client_secret_expires_at": 0,
    }


async def test_a_public_client_has_no_secret(flow: Flow):
    status, made = await register(flow, redirect_uris=[REDIRECT], token_endpoint_auth_method="none")

    assert status == 201
    assert made["client_type"] == "public"
    assert "client_secret" not in made
    assert "client_secret_expires_at" not in made


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({"redirect_uris": ["javascript:alert(1)"]}, "invalid_redirect_uri"),
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({}, "invalid_redirect_uri"),
        ({"redirect_uris": REDIRECT}, "invalid_client_metadata"),
        ({"redirect_uris": [REDIRECT], "grant_types": ["password"]}, "invalid_client_metadata"),
        ({"redirect_uris": [REDIRECT], "client_name": "a\0b"}, "invalid_client_metadata"),
    ],
)
async def test_what_is_wrong_is_told_as_clients_read_it(flow: Flow, told: dict[str, Any], error: str):
    status, body = await register(flow, **told)

    assert (status, body["error"]) == (400, error)
    assert body["error_description"]


async def test_registration_has_a_switch_of_its_own(flow: Flow):
    closed = flow.auth_pool.having(oauth_server__allow_dynamic_registration=False)

    assert await closed.refused("POST", "/oauth/clients/register", {"redirect_uris": [REDIRECT]}) == (
        403, "oauth_dynamic_client_registration_disabled", "Dynamic client registration is disabled",
    )  # fmt: skip
