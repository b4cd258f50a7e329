"""The documents by which clients find everything. Reference, section 15; RFC 8414; OpenID Connect Discovery."""

import json

import pytest
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata
from authlib.oidc.discovery import OpenIDProviderMetadata

from tests.workers.auth.auth_pool import told
from tests.workers.auth.federation.oauth_server.flow import BASE, Flow

NAMES = ["openid-configuration", "oauth-authorization-server"]


@pytest.mark.parametrize("name", NAMES)
async def test_the_document_names_every_endpoint(flow: Flow, name: str):
    shown = await flow.auth_pool.ok("GET", f"/.well-known/{name}")

    assert {name: value for name, value in shown.items() if isinstance(value, str)} == {
        "issuer": BASE,
        "authorization_endpoint": f"{BASE}/oauth/authorize",
        "token_endpoint": f"{BASE}/oauth/token",
        "userinfo_endpoint": f"{BASE}/oauth/userinfo",
        "jwks_uri": f"{BASE}/.well-known/jwks.json",
        "registration_endpoint": f"{BASE}/oauth/clients/register",
    }
    assert shown["response_types_supported"] == ["code"]
    assert shown["grant_types_supported"] == ["authorization_code", "refresh_token"]
    assert shown["code_challenge_methods_supported"] == ["S256", "plain"]
    assert shown["token_endpoint_auth_methods_supported"] == [
        "client_secret_basic",
        "client_secret_post",
        "none",
    ]
    assert shown["scopes_supported"] == ["openid", "profile", "email", "phone", "offline_access"]
    assert shown["id_token_signing_alg_values_supported"] == []


@pytest.mark.parametrize("name", NAMES)
async def test_a_library_of_clients_takes_it(asymmetric: Flow, name: str):
    response = await asymmetric.auth_pool.send("GET", f"/.well-known/{name}")
    shown = json.loads(response.body)
    kind = OpenIDProviderMetadata if name == NAMES[0] else AuthorizationServerMetadata

    kind({**shown, "id_token_signing_alg_values_supported": ["RS256"]}).validate()
    assert shown["id_token_signing_alg_values_supported"] == ["ES256"]
    assert told(response, "cache-control") == "public, max-age=600"


async def test_registration_is_named_only_where_it_is_on(flow: Flow):
    closed = flow.auth_pool.having(oauth_server__allow_dynamic_registration=False)

    assert "registration_endpoint" not in await closed.ok("GET", "/.well-known/openid-configuration")


@pytest.mark.parametrize("name", NAMES)
async def test_the_document_stands_at_the_root_with_the_path_of_the_issuer(flow: Flow, name: str):
    auth_pool = flow.auth_pool

    assert (await auth_pool.ok("GET", f"/.well-known/{name}/auth/v1"))["issuer"] == BASE
    for path in ("auth/v2", "auth", "auth/v1/more"):
        assert (await auth_pool.refused("GET", f"/.well-known/{name}/{path}"))[0] == 404


async def test_the_issuer_is_that_of_the_tokens(flow: Flow):
    auth_pool = flow.auth_pool.having(jwt_issuer="https://issuer.example")

    assert (await auth_pool.ok("GET", "/.well-known/openid-configuration"))[
        "issuer"
    ] == "https://issuer.example"
