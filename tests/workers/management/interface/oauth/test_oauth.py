"""Sign-in of agents at `/mcp` by OAuth: what a client learns, the consent, tokens, and attacks on each step."""

import hashlib
import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from schemas.http import Response
from tests.workers.database.server import connected
from tests.workers.management.conftest import ORIGIN, Client
from tests.workers.management.spellings.mcp.conftest import Agent, header_of
from workers.management.interface.rights import Right

MCP = f"{ORIGIN}/mcp"
ISSUER = f"{ORIGIN}/management/v1/oauth"
CALLBACK = "http://127.0.0.1:9999/callback"
VERIFIER = "v" * 64
CHALLENGE = urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


async def register(visitor: Client, *uris: str, **more: object) -> str:
    body = {"client_name": "Agent <b>", "redirect_uris": list(uris or ("http://127.0.0.1/callback",)), **more}
    response = await visitor.send("POST", "/oauth/register", body)
    assert response.status == 201, response
    return str(json.loads(response.body)["client_id"])


async def post(visitor: Client, path: str, **values: str) -> Response:
    return await visitor.send("POST", f"/oauth/{path}", upload=(urlencode(values).encode(),))


@dataclass
class Flow:
    """One sign-in of a client."""

    visitor: Client
    owner: Client
    client_id: str
    redirect_uri: str = CALLBACK

    @property
    def request(self) -> dict[str, str]:
        return {
            "response_type": "code", "client_id": self.client_id, "redirect_uri": self.redirect_uri, "state": "s&1",
            "code_challenge": CHALLENGE, "code_challenge_method": "S256", "resource": MCP,
        }  # fmt: skip

    async def code(self, **choices: object) -> str:
        answer = await self.owner.run("connections.allow", request=self.request, **choices)
        values = parse_qs(urlsplit(answer["redirect_to"]).query)
        assert answer["redirect_to"].startswith(self.redirect_uri + "?")
        assert (values["state"], values["iss"]) == (["s&1"], [ISSUER])
        return values["code"][0]

    async def redeem(self, code: str, **changes: str) -> Response:
        values = {
            "grant_type": "authorization_code", "code": code, "client_id": self.client_id, "resource": MCP,
            "redirect_uri": self.redirect_uri, "code_verifier": VERIFIER,
        }  # fmt: skip
        return await post(self.visitor, "token", **values | changes)

    async def renew(self, token: str, **changes: str) -> Response:
        values = {"grant_type": "refresh_token", "refresh_token": token, "client_id": self.client_id}
        return await post(self.visitor, "token", **values | changes)

    async def tokens(self, **choices: object) -> dict[str, Any]:
        response = await self.redeem(await self.code(**choices))
        assert response.status == 200, response
        tokens: dict[str, Any] = json.loads(response.body)
        return tokens

    def agent(self, token: str) -> Agent:
        return Agent(replace(self.visitor, token=token))


@pytest.fixture
async def flow(visitor: Client, owner: Client) -> Flow:
    return Flow(visitor, owner, await register(visitor))


async def works(flow: Flow, token: str) -> bool:
    response = await flow.agent(token).post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    return response.status == 200


def error_of(response: Response) -> tuple[int, str]:
    return response.status, json.loads(response.body)["error"]


async def test_a_client_learns_how_to_sign_in(visitor: Client) -> None:
    refused = await Agent(visitor).post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    wrong = await Agent(replace(visitor, token="sbp_" + "0" * 40)).post(
        {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    )
    challenge = header_of(refused.headers, "www-authenticate")
    url = f"{ORIGIN}/.well-known/oauth-protected-resource/mcp"

    assert (refused.status, challenge) == (401, f'Bearer resource_metadata="{url}"')
    assert (
        header_of(wrong.headers, "www-authenticate")
        == f'Bearer error="invalid_token", resource_metadata="{url}"'
    )
    resource = json.loads((await visitor.send("GET", url.removeprefix(ORIGIN))).body)
    assert (resource["resource"], resource["authorization_servers"]) == (MCP, [ISSUER])
    for path in (
        "/.well-known/oauth-authorization-server/management/v1/oauth",
        "/oauth/.well-known/openid-configuration",
    ):
        server = json.loads((await visitor.send("GET", path)).body)
        assert (server["issuer"], server["code_challenge_methods_supported"]) == (ISSUER, ["S256"])
        assert server["token_endpoint"] == f"{ISSUER}/token"


async def test_a_program_is_let_in_renews_and_leaves(flow: Flow) -> None:
    sent = await flow.visitor.send(
        "GET", "/oauth/authorize", query=urlencode(flow.request | {"scope": "all"})
    )
    page = urlsplit(header_of(sent.headers, "location"))
    shown = await flow.owner.run("connections.describe", **flow.request)
    tokens = await flow.tokens()
    renewed = json.loads((await flow.renew(tokens["refresh_token"])).body)
    listed = (await flow.owner.run("connections.list"))[0]
    own_tokens = await flow.owner.run("tokens.list")

    assert (sent.status, page.path) == (302, "/_/connect")
    assert {name: value[0] for name, value in parse_qs(page.query).items()} == flow.request
    assert shown == {
        "client": "Agent <b>",
        "site": "",
        "target": "127.0.0.1:9999",
        "is_on_this_machine": True,
        "resource": MCP,
    }
    assert (tokens["token_type"], tokens["expires_in"]) == ("Bearer", 3600)
    assert await works(flow, renewed["access_token"])
    assert (listed["client"], listed["rights"], listed["may_write"]) == ("Agent <b>", "reader", False)
    assert listed["used_at"] is not None
    assert "Agent <b>" not in {token["name"] for token in own_tokens}
    assert (
        await post(flow.visitor, "revoke", token=renewed["access_token"], client_id=flow.client_id)
    ).status == 200
    assert not await works(flow, renewed["access_token"])
    assert error_of(await flow.renew(renewed["refresh_token"])) == (400, "invalid_grant")


async def test_rights_are_what_the_administrator_chose(flow: Flow) -> None:
    reading = flow.agent((await flow.tokens())["access_token"])
    writing = flow.agent((await flow.tokens(rights="developer", may_write=True))["access_token"])
    developer = await flow.visitor.signed_in("dev@oauth.test", Right.DEVELOPER)

    assert "apply_migration" not in await reading.tools()
    assert "apply_migration" in await writing.tools()
    assert await developer.refused("connections.allow", request=flow.request, rights="owner") == (
        403,
        "no_right",
    )


async def test_what_ends_takes_the_tokens_with_it(flow: Flow) -> None:
    other = await flow.visitor.signed_in("other@oauth.test", Right.DEVELOPER)
    tokens = await flow.tokens()
    listed = (await flow.owner.run("connections.list"))[0]

    assert await other.refused("connections.remove", id=listed["id"]) == (404, "not_found")
    assert await works(flow, tokens["access_token"])
    await flow.owner.run("connections.remove", id=listed["id"])
    assert not await works(flow, tokens["access_token"])


async def test_tokens_count_at_mcp_alone(flow: Flow) -> None:
    token = (await flow.tokens(rights="owner", may_write=True))["access_token"]
    client = replace(flow.visitor, token=token)
    elsewhere = Agent(replace(client, server_origin="https://other.test", headers={}))

    assert await client.refused("tokens.list") == (401, "not_signed_in")
    assert (await client.send("GET", "/v1/projects")).status == 401
    assert (await elsewhere.post({"jsonrpc": "2.0", "id": 1, "method": "ping"})).status == 401
    assert await works(flow, token)


async def test_only_a_session_with_its_origin_and_a_fresh_password_consents(flow: Flow) -> None:
    token = await flow.owner.run("tokens.create", name="t", rights="owner", may_write=True)
    program = replace(flow.visitor, token=token["secret"])
    forged = replace(flow.owner, headers={"origin": "https://evil.test"})
    async with connected(flow.owner.superuser_url) as connection:
        assert await program.refused("connections.allow", request=flow.request) == (403, "needs_session")
        assert await forged.refused("connections.allow", request=flow.request) == (403, "cross_site")
        assert (await flow.visitor.refused("connections.allow", request=flow.request))[0] == 401
        await connection.execute(
            "update headwater.administrator_sessions set confirmed_at = now() - interval '1 hour'"
        )
        assert await flow.owner.refused("connections.allow", request=flow.request) == (
            403,
            "needs_confirmation",
        )


@pytest.mark.parametrize(
    "changes",
    [
        {"code_verifier": "w" * 64},
        {"redirect_uri": "http://127.0.0.1:9998/callback"},
        {"client_id": "another"},
    ],
)
async def test_a_stolen_code_is_of_no_use_and_is_used_up(flow: Flow, changes: dict[str, str]) -> None:
    code = await flow.code()
    if "client_id" in changes:
        changes = {"client_id": await register(flow.visitor, CALLBACK)}

    assert error_of(await flow.redeem(code, **changes)) == (400, "invalid_grant")
    assert error_of(await flow.redeem(code)) == (400, "invalid_grant")


async def test_a_code_that_comes_twice_ends_what_it_gave(flow: Flow) -> None:
    code = await flow.code()
    tokens = json.loads((await flow.redeem(code)).body)
    assert await works(flow, tokens["access_token"])

    assert error_of(await flow.redeem(code)) == (400, "invalid_grant")
    assert not await works(flow, tokens["access_token"])
    assert error_of(await flow.renew(tokens["refresh_token"])) == (400, "invalid_grant")


@pytest.mark.parametrize(("aged", "ends"), [("0 seconds", False), ("1 minute", True)])
async def test_a_refresh_token_that_comes_twice_ends_the_consent(
    flow: Flow, aged: str, *, ends: bool
) -> None:
    tokens = await flow.tokens()
    renewed = json.loads((await flow.renew(tokens["refresh_token"])).body)
    async with connected(flow.owner.superuser_url) as connection:
        await connection.execute(
            f"update headwater.administrator_grants set refreshed_at = now() - interval '{aged}'"
        )

    assert error_of(await flow.renew(tokens["refresh_token"])) == (400, "invalid_grant")
    assert await works(flow, renewed["access_token"]) is not ends


@pytest.mark.parametrize("column", ["code_expires_at", "expires_at"])
async def test_what_is_too_old_is_not_taken(flow: Flow, column: str) -> None:
    code, tokens = await flow.code(), await flow.tokens()
    async with connected(flow.owner.superuser_url) as connection:
        await connection.execute(
            f"update headwater.administrator_grants set {column} = now() - interval '1 second'"
        )
        await connection.execute(
            "update headwater.administrator_tokens set expires_at = now() where grant_id is not null"
        )

    if column == "code_expires_at":
        assert error_of(await flow.redeem(code)) == (400, "invalid_grant")
    else:
        assert error_of(await flow.renew(tokens["refresh_token"])) == (400, "invalid_grant")
    assert not await works(flow, tokens["access_token"])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"redirect_uri": "https://evil.test/"}, 400),
        ({"redirect_uri": "http://127.0.0.1/other"}, 400),
        ({"redirect_uri": "http://127.0.0.1@evil.test/callback"}, 400),
        ({"redirect_uri": "http://127.0.0.1/callback#x"}, 400),
        ({"client_id": "hwc_AAAA"}, 401),
        ({"client_id": ""}, 401),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": ""}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"resource": "https://other.test/mcp"}, "invalid_target"),
        ({"state": "x" * 1001}, "invalid_request"),
    ],
)
async def test_requests_that_are_not_shown(flow: Flow, changes: dict[str, str], expected: int | str) -> None:
    request = flow.request | changes
    response = await flow.visitor.send("GET", "/oauth/authorize", query=urlencode(request))
    refused = await flow.owner.refused("connections.allow", request=request)

    if isinstance(expected, int):  # nothing is sent to an address that is not the client's
        assert response.status == expected
        assert not [value for name, value in response.headers if name == "location"]
    else:
        location = urlsplit(header_of(response.headers, "location"))
        assert location._replace(query="").geturl() == CALLBACK
        assert parse_qs(location.query)["error"] == [expected]
    assert refused == (400, "invalid_arguments")


async def test_parameters_that_come_twice_are_refused(flow: Flow) -> None:
    query = urlencode(flow.request) + "&redirect_uri=https://evil.test/"

    response = await flow.visitor.send("GET", "/oauth/authorize", query=query)

    assert response.status == 400
    assert error_of(await post(flow.visitor, "token", grant_type="password", client_id=flow.client_id)) == (
        400,
        "unsupported_grant_type",
    )
    assert error_of(await flow.redeem("x", resource="https://other.test/mcp")) == (400, "invalid_target")


@pytest.mark.parametrize(
    ("uri", "is_taken"),
    [
        ("https://app.test/callback?x=1", True),
        ("cursor://anysphere.cursor-mcp/oauth/callback", True),
        ("http://localhost/callback", True),
        ("http://[::1]/callback", True),
        ("http://app.test/callback", False),
        ("javascript://%0aalert(1)", False),
        ("data://text/html,x", False),
        ("vbscript:x", False),
        ("com.example.app:/callback", False),
        ("https://u:p@app.test/", False),
        ("https:///x", False),
        ("https://app.test/ x", False),
        ("https://app.test/#x", False),
        ("https://app.test/" + "x" * 500, False),
        (7, False),
    ],
)
async def test_addresses_of_redirection(visitor: Client, uri: object, *, is_taken: bool) -> None:
    response = await visitor.send("POST", "/oauth/register", {"redirect_uris": [uri]})

    assert (response.status == 201) is is_taken
    if not is_taken:
        assert error_of(response) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"redirect_uris": []},
        {"redirect_uris": [CALLBACK] * 11},
        {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "client_secret_basic"},
        {"redirect_uris": ["https://a.test/" + "x" * 400] * 5},
        [],
    ],
)
async def test_registrations_that_are_refused(visitor: Client, body: object) -> None:
    response = await visitor.send("POST", "/oauth/register", body)

    assert error_of(response)[0] == 400
