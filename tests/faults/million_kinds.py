"""What `million.py` repeats: one operation of each kind, and what its clients remove of their own."""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.bench.load import http
from tests.platform import Platform

BUCKET = "millions"
SCHEMA = """
create table public.millions (n bigint generated always as identity primary key, id bigint not null, by int not null);
create index on public.millions (by);
alter publication supabase_realtime add table public.millions;
grant select, insert, delete on public.millions to service_role;
notify pgrst;
"""
_PASSWORD = "correct horse battery"
_EVERY = 500
"""So often a client removes what it made."""
_BYTES = b"x" * 1000


class Connection:
    """One connection that is kept alive: a request, then its answer. It costs a third of what a client library does."""

    def __init__(self, platform: Platform) -> None:
        parts = urlsplit(platform.url)
        self.host, self._address = parts.netloc, (parts.hostname, parts.port)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, request: bytes) -> tuple[int, bytes]:
        """Send a request; return status and body. Raises: OSError, EOFError if the connection breaks."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        try:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            status, low = int(head[9:12]), head.lower()
            if b"transfer-encoding: chunked" in low:
                body = await _chunks(reader)
            else:
                size = low.partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0]
                body = await reader.readexactly(int(size or b"0"))
        except (OSError, EOFError):
            self.close()
            raise
        if b"\r\nconnection: close" in low:
            self.close()
        return status, body

    def close(self) -> None:
        """Close it; the next request opens another one."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).strip(), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return body


@dataclass
class Client:
    """One client: it sends one operation after another."""

    platform: Platform
    number: int
    refused: dict[str, int] = field(default_factory=dict)
    token: str = ""
    """Of the kind `refreshes`: the refresh token that is valid now."""

    def __post_init__(self) -> None:
        self.connection = Connection(self.platform)

    async def ask(
        self, method: str, path: str, body: object = None, *, bearer: str = "", **headers: str
    ) -> bytes:
        """Send a request; return the body of a success, count anything else."""
        key = self.platform.values["ANON_KEY" if bearer else "SERVICE_ROLE_KEY"]
        own = {"apikey": key, "Authorization": f"Bearer {bearer or key}"}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        try:
            status, answer = await self.connection.send(
                http(method, path, self.connection.host, own, content)
            )
        except (OSError, EOFError) as error:
            status, answer = 0, type(error).__name__.encode()
        if 200 <= status < 300:
            return answer
        shown = f"{method} {path.partition('?')[0][:40]}: {status}"
        self.refused[shown] = self.refused.get(shown, 0) + 1
        return b""


Operate = Callable[[Client, int], Awaitable[object]]


async def _rows(client: Client, id: int) -> None:
    await client.ask("POST", "/rest/v1/millions", {"id": id, "by": client.number}, Prefer="return=minimal")
    await _drop_rows(client, id)


async def _keyed(client: Client, id: int) -> None:
    row = {"id": id, "by": client.number}
    await client.ask("POST", "/rest/v1/millions", row, Idempotency_Key=secrets.token_hex(16))
    await _drop_rows(client, id)


async def _drop_rows(client: Client, id: int) -> None:
    if id % _EVERY == 0:
        await client.ask("DELETE", f"/rest/v1/millions?by=eq.{client.number}")


async def _reads(client: Client, id: int) -> None:
    await client.ask("GET", f"/rest/v1/millions?select=id&order=id.desc&limit={1 + id % 50}")


async def _graphql(client: Client, id: int) -> None:
    query = "query($n: Int!) { millionsCollection(first: $n) { edges { node { id } } } }"
    await client.ask("POST", "/graphql/v1", {"query": query, "variables": {"n": 1 + id % 30}})


async def _uploads(client: Client, id: int) -> None:
    path = f"/storage/v1/object/{BUCKET}/{client.number}/{id}"
    await client.ask("POST", path, _BYTES)
    await client.ask("DELETE", path)


async def _functions(client: Client, id: int) -> None:
    await client.ask("POST", "/functions/v1/echo", {"id": id})


async def _queue(client: Client, id: int) -> None:
    await client.ask("POST", "/rest/v1/rpc/send_mark", {"mark": id})
    if id % 40 == 0:
        await client.ask("POST", "/rest/v1/rpc/drop_marks", {})


async def _refreshes(client: Client, id: int) -> None:
    del id
    if not client.token:
        client.token = _field(await _sign_in(client), "refresh_token")
    body = await client.ask(
        "POST", "/auth/v1/token?grant_type=refresh_token", {"refresh_token": client.token}
    )
    client.token = _field(body, "refresh_token")


async def _sign_ins(client: Client, id: int) -> None:
    del id
    if token := _field(await _sign_in(client), "access_token"):
        await client.ask("POST", "/auth/v1/logout?scope=local", bearer=token)


async def _sign_in(client: Client) -> bytes:
    return await client.ask("POST", "/auth/v1/token?grant_type=password", person(client.number))


def person(number: int) -> dict[str, str]:
    """Return the account of a client."""
    return {"email": f"million-{number}@example.com", "password": _PASSWORD}


def _field(body: bytes, name: str) -> str:
    return str(json.loads(body)[name]) if body else ""


KINDS: dict[str, Operate] = {
    "rows": _rows,
    "keyed rows": _keyed,
    "reads": _reads,
    "graphql": _graphql,
    "uploads and removals": _uploads,
    "functions": _functions,
    "queue": _queue,
    "refreshes": _refreshes,
    "sign-ins and sign-outs": _sign_ins,
}
