"""A client that sends what an attack needs, and follows no redirect."""

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.platform import Platform


@dataclass(frozen=True, slots=True)
class Received:
    """An answer. Names of headers are in lower case; `lines` has every header, also those that came twice."""

    status: int
    headers: dict[str, str]
    lines: list[tuple[str, str]]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def cookies(self) -> dict[str, str]:
        """Return the cookies that the answer sets, name to value."""
        pairs = [value.partition(";")[0].partition("=") for name, value in self.lines if name == "set-cookie"]
        return {name: value for name, _, value in pairs}


def send(
    target: Platform,
    method: str,
    path: str,
    body: object = None,
    headers: Mapping[str, str] | None = None,
    *,
    key: str = "ANON_KEY",
) -> Received:
    """Send a request with an API key; a body that is no bytes goes as JSON. `path` may be a whole URL of the platform."""
    address = urlsplit(target.url + path if path.startswith("/") else path)
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    sent = {
        "apikey": target.values[key],
        **({} if isinstance(body, bytes) else {"content-type": "application/json"}),
    }
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    try:
        connection.request(method, f"{address.path}?{address.query}", data, {**sent, **(headers or {})})
        answer = connection.getresponse()
        lines = [(name.lower(), value) for name, value in answer.getheaders()]
        return Received(answer.status, dict(lines), lines, answer.read())
    finally:
        connection.close()
