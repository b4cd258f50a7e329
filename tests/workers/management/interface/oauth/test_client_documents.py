"""Clients whose id is the address of a document: the address, the document, and a sign-in with one."""

import json
from dataclasses import replace
from urllib.parse import urlencode, urlsplit

import pytest

from tests.workers.management.conftest import Client
from tests.workers.management.interface.oauth.test_oauth import CALLBACK, Flow, error_of, works
from tests.workers.management.spellings.mcp.conftest import header_of
from workers.http_client.client import FetchedResponse, HttpClient
from workers.management.interface.oauth.client_documents import client_of_document, document_host
from workers.management.interface.oauth.errors import OAuthRejected

ADDRESS = "https://agent.example/oauth/client.json"
DOCUMENT = {
    "client_id": ADDRESS,
    "client_name": "Agent",
    "redirect_uris": [CALLBACK],
    "token_endpoint_auth_method": "none",
}


def response(document: object, status: int = 200) -> FetchedResponse:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return FetchedResponse(status, {"content-type": "application/json"}, body)


@pytest.mark.parametrize(
    ("address", "host"),
    [
        (ADDRESS, "agent.example"),
        ("https://agent.example:8443/c?v=1", "agent.example"),
        ("https://agent.example/.well-known/c", "agent.example"),
        ("https://agent.example", None),
        ("https://agent.example/", None),
        ("https://agent.example/a/../c", None),
        ("https://agent.example/a/%2E%2e/c", None),
        ("https://agent.example/a/.", None),
        ("https://agent.example/c#x", None),
        ("https://u@agent.example/c", None),
        ("https://agent.example:99999/c", None),
        ("https:///c", None),
        ("https://agent.example/" + "c" * 500, None),
        ("https://" + "a" * 96 + "/c", None),
        ("https://agent.example/c\\d", None),
        ("https://agent.example/\u00e9", None),
    ],
)
def test_addresses_that_may_be_the_id_of_a_client(address: str, host: str | None) -> None:
    if host is not None:
        assert document_host(address) == host
        return
    with pytest.raises(OAuthRejected):
        document_host(address)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (response(DOCUMENT, 404), "it answers 404"),
        (response(DOCUMENT, 302), "it answers 302"),
        (response(b"<html>"), "no JSON object"),
        (response([DOCUMENT]), "no JSON object"),
        (response({**DOCUMENT, "client_id": ADDRESS + "/"}), "another address"),
        (response({**DOCUMENT, "client_id": None}), "another address"),
        (response({**DOCUMENT, "client_secret": "s"}), "`client_secret` does not belong"),
        (response({**DOCUMENT, "token_endpoint_auth_method": "client_secret_post"}), "must be none"),
        (response({**DOCUMENT, "redirect_uris": ["javascript://x"]}), "is not taken"),
        (response({**DOCUMENT, "redirect_uris": []}), "`redirect_uris` must have"),
    ],
)  # fmt: skip
def test_documents_that_describe_no_client(answer: FetchedResponse, reason: str) -> None:
    with pytest.raises(OAuthRejected, match=reason):
        client_of_document(ADDRESS, answer)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that the platform asked for; each is answered with the document. A real one would take a certificate that is trusted."""
    asked: list[str] = []

    async def fetch(self: HttpClient, method: str, url: str, **options: object) -> FetchedResponse:
        assert (method, options["only_public"], options.get("redirects", 0)) == ("GET", True, 0)
        asked.append(url)
        return response(DOCUMENT)

    monkeypatch.setattr(HttpClient, "fetch", fetch)
    return asked


async def test_a_program_with_a_document_is_let_in(visitor: Client, owner: Client, served: list[str]) -> None:
    flow = Flow(visitor, owner, ADDRESS)
    sent = await visitor.send("GET", "/oauth/authorize", query=urlencode(flow.request))

    assert (sent.status, urlsplit(header_of(sent.headers, "location")).path) == (302, "/_/connect")
    assert served == []  # a request without a caller makes the platform send none
    shown = await owner.run("connections.describe", **flow.request)
    tokens = await flow.tokens()
    renewed = json.loads((await flow.renew(tokens["refresh_token"])).body)
    assert (shown["client"], shown["site"]) == ("Agent", "agent.example")
    assert served == [ADDRESS] * 2
    assert await works(flow, renewed["access_token"])
    assert (await owner.run("connections.list"))[0]["client"] == "Agent (agent.example)"
    assert error_of(await replace(flow, client_id=ADDRESS + "2").renew(renewed["refresh_token"])) == (
        400,
        "invalid_grant",
    )


async def test_what_the_document_does_not_have_is_refused(
    visitor: Client, owner: Client, served: list[str]
) -> None:
    flow = Flow(visitor, owner, ADDRESS, "https://evil.example/callback")

    assert await owner.refused("connections.allow", request=flow.request) == (400, "invalid_arguments")
    assert served == [ADDRESS]
    for changes in (
        {"client_id": "https://agent.example/"},
        {"code_challenge_method": "plain"},
        {"response_type": "token"},
    ):
        answer = await visitor.send("GET", "/oauth/authorize", query=urlencode(flow.request | changes))
        assert answer.status == 400
        assert not [value for name, value in answer.headers if name == "location"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254"])
async def test_no_document_is_read_from_this_machine_or_network(
    visitor: Client, owner: Client, host: str
) -> None:
    flow = Flow(visitor, owner, f"https://{host}/client.json")

    assert await owner.refused("connections.describe", **flow.request) == (400, "invalid_arguments")
