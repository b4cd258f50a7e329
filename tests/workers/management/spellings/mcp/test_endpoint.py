"""The HTTP side of /mcp: methods, origins, tokens, media types, revisions, and messages that are none."""

import json
from dataclasses import replace

import pytest
from msgspec import structs

from schemas.http import Request
from tests.workers.management.conftest import ORIGIN, Body, Client
from tests.workers.management.spellings.mcp.conftest import Agent, header_of

_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def _stateless(method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": "a", "method": method, "params": {"_meta": _META, **params}}


async def test_a_request_needs_a_token(visitor: Client, owner: Client) -> None:
    for client in (visitor, owner, replace(visitor, token="sbp_" + "0" * 40), replace(visitor, token="x")):
        response = await Agent(client).post({"jsonrpc": "2.0", "id": 1, "method": "ping"})

        assert response.status == 401
        assert header_of(response.headers, "www-authenticate").startswith("Bearer")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
async def test_only_post_is_taken(reading: Agent, method: str) -> None:
    response = await reading.client.send(method, "/mcp")

    assert response.status == 405
    assert header_of(response.headers, "allow") == "POST"


async def test_a_page_of_another_origin_is_refused(reading: Agent) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    rebound = replace(reading.client, server_origin="http://evil.example:54321")

    assert (await reading.post(ping, origin=ORIGIN)).status == 200
    assert (await reading.post(ping, origin="http://evil.example")).status == 403
    assert (await reading.post(ping, origin="null")).status == 403
    assert (await Agent(rebound).post(ping, origin="http://evil.example:54321")).status == 403
    assert (await Agent(rebound).post(ping)).status == 200


async def test_a_page_that_the_settings_name_may_call(
    reading: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = reading.client.worker
    named = structs.replace(worker.configuration.management, mcp_origins=["https://agent.example"])
    monkeypatch.setattr(worker, "configuration", structs.replace(worker.configuration, management=named))
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

    assert (await reading.post(ping, origin="https://agent.example")).status == 200
    assert (await reading.post(ping, origin="https://other.example")).status == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"accept": "text/html"}, 406),
        ({"accept": "text/event-stream"}, 406),
        ({"accept": "*/*"}, 200),
    ],
)
async def test_media_types(reading: Agent, headers: dict[str, str], status: int) -> None:
    response = await reading.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, **headers)

    assert response.status == status


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], -32600),
        ([], -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, -32600),
        ("text", -32600),
    ],
)
async def test_what_is_no_message_is_refused(reading: Agent, body: object, code: int) -> None:
    response = await reading.post(body)
    answer = json.loads(response.body)

    assert response.status == 400
    assert answer["error"]["code"] == code
    assert answer["id"] is None


@pytest.mark.parametrize("depth", [70, 900])
async def test_a_deep_message_is_refused(reading: Agent, depth: int) -> None:
    key: object = 1
    for _ in range(depth):
        key = [key]
    arguments = {"table": "t", "key": {"id": key}}
    params = {"name": "explain_row", "arguments": arguments}
    response = await reading.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})

    assert response.status == 400
    assert "nested" in json.loads(response.body)["error"]["message"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b"[" * 100_000, b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}']
)
async def test_what_is_no_json_is_refused(reading: Agent, body: bytes) -> None:
    headers = [("content-type", "application/json"), ("authorization", f"Bearer {reading.client.token}")]
    request = Request("request-1", "POST", "/mcp", headers=headers, client="127.0.0.1")
    response = await reading.client.worker.mcp.answer(request, Body(body))  # type: ignore[arg-type]  # no broker

    assert response.status == 400
    assert json.loads(response.body)["error"]["code"] in (-32700, -32600)


async def test_the_handshake_agrees_on_a_revision(reading: Agent) -> None:
    for requested, agreed in (
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2024-11-05"),
        ("2099-01-01", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
    ):
        result = await reading.ask("initialize", protocolVersion=requested, capabilities={}, clientInfo={})

        assert result["protocolVersion"] == agreed
        assert result["serverInfo"]["name"] == "headwater"
        assert "tools" in result["capabilities"]


async def test_a_notification_gets_no_answer(reading: Agent) -> None:
    for method in ("notifications/initialized", "notifications/cancelled", "notifications/other"):
        response = await reading.post({"jsonrpc": "2.0", "method": method})

        assert (response.status, response.body) == (202, b"")


async def test_an_unknown_revision_is_refused_with_those_that_are_served(reading: Agent) -> None:
    response = await reading.post(
        {"jsonrpc": "2.0", "id": 1, "method": "ping"}, **{"mcp-protocol-version": "1900-01-01"}
    )
    error = json.loads(response.body)["error"]

    assert response.status == 400
    assert error["code"] == -32022
    assert {"2026-07-28", "2025-11-25"} <= set(error["data"]["supported"])


async def test_an_unknown_method_is_an_error_of_the_protocol(reading: Agent) -> None:
    assert (await reading.fault("prompts/list"))["code"] == -32601
    assert (await reading.fault("server/discover"))["code"] == -32601
    assert (await reading.fault("resources/read", uri="docs://../../etc/passwd"))["code"] == -32002
    assert (await reading.fault("tools/call", name="no_such_tool"))["code"] == -32602


async def test_a_request_without_handshake_carries_its_revision(reading: Agent) -> None:
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "server/discover"}
    response = await reading.post(_stateless("server/discover"), **headers)
    result = json.loads(response.body)["result"]

    assert response.status == 200
    assert result["resultType"] == "complete"
    assert result["supportedVersions"][0] == "2026-07-28"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "headwater"
    assert result["cacheScope"] == "private"


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (_stateless("ping"), {"mcp-method": "ping"}, 404, -32601),
        (_stateless("initialize"), {"mcp-method": "initialize"}, 404, -32601),
        (_stateless("tools/list"), {"mcp-method": "tools/call"}, 400, -32020),
        (_stateless("tools/list"), {}, 400, -32020),
        (_stateless("tools/call", name="a"), {"mcp-method": "tools/call", "mcp-name": "b"}, 400, -32020),
        (_stateless("tools/call", name="ü"), {"mcp-method": "tools/call", "mcp-name": "=?base64?w7w=?="}, 400, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {"mcp-method": "tools/list"}, 400, -32602),
        (
            {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {**_META, "io.modelcontextprotocol/protocolVersion": "2025-11-25"}}},
            {"mcp-method": "tools/list"},
            400,
            -32020,
        ),
    ],
)  # fmt: skip
async def test_headers_must_repeat_the_body_where_there_is_no_handshake(
    reading: Agent, body: object, headers: dict[str, str], status: int, code: int
) -> None:
    response = await reading.post(body, **{"mcp-protocol-version": "2026-07-28", **headers})

    assert (response.status, json.loads(response.body)["error"]["code"]) == (status, code)
