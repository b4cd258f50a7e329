"""Requests of agents to a worker, with a token."""

import itertools
import json
import uuid
from dataclasses import dataclass, replace
from typing import Any

import pytest

from schemas.http import Headers, Response
from tests.workers.management.conftest import Client

_NUMBERS = itertools.count(1)


@dataclass
class Agent:
    """Sends messages of the protocol, of a revision with handshake."""

    client: Client
    query: str = ""
    headers: dict[str, str] | None = None

    async def post(self, body: object, **headers: str) -> Response:
        """Send a body to /mcp and return the response."""
        usual = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        sending = replace(self.client, headers=usual | (self.headers or {}) | headers)
        return await sending.send("POST", "/mcp", body, query=self.query)

    async def ask(self, method: str, **params: object) -> Any:
        """Send a request and return its result. It must succeed."""
        message = {"jsonrpc": "2.0", "id": next(_NUMBERS), "method": method, "params": params}
        response = await self.post(message)
        answer = json.loads(response.body)
        assert response.status == 200, answer
        assert answer["id"] == message["id"], answer
        assert "error" not in answer, answer
        return answer["result"]

    async def fault(self, method: str, **params: object) -> dict[str, Any]:
        """Send a request that is an error of the protocol and return the error."""
        response = await self.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        error: dict[str, Any] = json.loads(response.body)["error"]
        return error

    async def tools(self) -> set[str]:
        """Return the names of the tools."""
        return {tool["name"] for tool in (await self.ask("tools/list"))["tools"]}

    async def call(self, tool: str, /, **arguments: object) -> str:
        """Call a tool and return its text. It must succeed."""
        result = await self.ask("tools/call", name=tool, arguments=arguments)
        assert not result["isError"], result
        text: str = result["content"][0]["text"]
        return text

    async def failure(self, tool: str, /, **arguments: object) -> str:
        """Call a tool that fails and return the text of the error."""
        result = await self.ask("tools/call", name=tool, arguments=arguments)
        assert result["isError"], result
        text: str = result["content"][0]["text"]
        return text


def data_of(text: str) -> Any:
    """Return the JSON between the markers of a result."""
    first = text.index("<untrusted-data-")
    start = text.index(">\n", first) + 2
    return json.loads(text[start : text.index("\n</untrusted-data-", start)])


def header_of(headers: Headers, name: str) -> str:
    """Return the value of a header that is there once."""
    [value] = [value for key, value in headers if key == name]
    return value


@pytest.fixture
async def writer(owner: Client) -> Agent:
    """An agent whose token has the rights of a developer and may write."""
    token = await owner.run("tokens.create", name=uuid.uuid4().hex, rights="developer", may_write=True)
    return Agent(replace(owner, cookie="", token=token["secret"]))


@pytest.fixture
async def reading(owner: Client) -> Agent:
    """An agent whose token has the rights of a developer and may not write."""
    token = await owner.run("tokens.create", name=uuid.uuid4().hex, rights="developer")
    return Agent(replace(owner, cookie="", token=token["secret"]))
