"""A realtime worker on a bootstrapped database, and questions as edges ask them."""

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import asyncpg
import msgspec

from schemas import realtime
from schemas.http import Request
from schemas.realtime import (
    ChangeSubscription,
    ChannelQuery,
    ChannelRights,
    CheckAnswer,
    CheckedSubscription,
    CheckQuery,
    FilterCondition,
    MatchQuery,
    RowFlags,
    TableGrant,
    TableQuery,
    VisibilityQuery,
    WriteAnswer,
    WriteQuery,
)
from tests.workers.rest.bodies import Inline
from workers.database.connection_pool.pool import ConnectionPool
from workers.realtime.metrics import RealtimeMetrics
from workers.realtime.worker import RealtimeWorker

ALICE = "a11ce000-0000-4000-8000-000000000001"
BOB = "b0b00000-0000-4000-8000-000000000002"

T = TypeVar("T")


def claims_of(subject: str = ALICE, role: str = "authenticated", **more: object) -> bytes:
    """Give the claims of somebody who is signed in."""
    return json.dumps({"sub": subject, "role": role, **more}).encode()


ANON = b'{"role":"anon"}'


@dataclass
class RealtimePool:
    """A worker with what it works on; `ask` answers one question."""

    url: str
    pool: ConnectionPool
    admin: asyncpg.Connection
    """A connection of the superuser."""
    numbers: RealtimeMetrics

    async def ask(self, path: str, question: msgspec.Struct, kind: type[T]) -> T:
        body = msgspec.msgpack.encode(question)
        request = Request("r", "POST", path, body=body)
        answer = await RealtimeWorker(self.pool, self.numbers).answer(request, Inline(body))  # type: ignore[arg-type]  # as Body is read
        assert answer.status == 200
        return msgspec.msgpack.decode(answer.body, type=kind)

    async def sql(self, text: str, *arguments: object) -> None:
        await self.admin.execute(text, *arguments)

    async def value(self, text: str, *arguments: object) -> Any:
        return await self.admin.fetchval(text, *arguments)

    async def table(
        self, columns: str, *policies: str, is_published: bool = True, row_security: bool = True
    ) -> str:
        """Make a table in public that anybody may select; `policies` are expressions for everybody."""
        name = f"t_{uuid.uuid4().hex[:12]}"
        await self.sql(f"create table public.{name} ({columns})")
        await self.sql(f"grant select on public.{name} to anon, authenticated, service_role")
        if row_security:
            await self.sql(f"alter table public.{name} enable row level security")
        if is_published:
            await self.sql(f"alter publication supabase_realtime add table public.{name}")
        for number, policy in enumerate(policies):
            await self.sql(f"create policy p{number} on public.{name} for select using ({policy})")
        return name

    async def check(
        self, *entries: ChangeSubscription, role: str = "authenticated", claims: bytes | None = None
    ) -> list[CheckedSubscription]:
        asked = CheckQuery(role, claims or claims_of(role=role), list(entries))
        return (await self.ask(realtime.CHECK, asked, CheckAnswer)).subscriptions

    async def checked(self, table: str, filter: str = "", **more: Any) -> CheckedSubscription:
        select, event = more.pop("select", None), more.pop("event", "*")
        schema = more.pop("schema", "public")
        return (await self.check(ChangeSubscription(event, schema, table, filter, select), **more))[0]

    async def described(self, table: str, role: str = "authenticated", schema: str = "public") -> TableGrant:
        return await self.ask(realtime.TABLE, TableQuery(role, schema, table), TableGrant)

    async def visible(
        self,
        table: str,
        rows: Iterable[list[bytes]],
        *groups: tuple[str, bytes],
        key: tuple[str, ...] = ("id",),
    ) -> list[list[int]]:
        asked = VisibilityQuery("public", table, list(key), list(rows), list(groups))
        flags = await self.ask(realtime.VISIBLE, asked, RowFlags)
        return [list(each) for each in flags.groups]

    async def compared(
        self, table: str, rows: Iterable[list[bytes | None]], columns: list[str], *groups: tuple[str, bytes]
    ) -> list[list[int]]:
        """Ask which rows are visible and still have the values of the log in some columns."""
        asked = VisibilityQuery("public", table, ["id"], list(rows), list(groups), columns)
        flags = await self.ask(realtime.VISIBLE, asked, RowFlags)
        return [list(each) for each in flags.groups]

    async def matching(
        self, table: str, filters: list[FilterCondition], *rows: dict[str, Any] | bytes
    ) -> list[int]:
        texts = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
        asked = MatchQuery("public", table, filters, texts)
        return list((await self.ask(realtime.MATCH, asked, RowFlags)).groups[0])

    async def channel(self, topic: str, claims: bytes | None = None, **more: Any) -> ChannelRights:
        role = more.pop("role", "authenticated")
        asked = ChannelQuery(topic, role, claims or claims_of(role=role), **more)
        return await self.ask(realtime.CHANNEL, asked, ChannelRights)

    async def may_write(
        self,
        topic: str,
        extension: Any = "broadcast",
        claims: bytes | None = None,
        role: str = "authenticated",
    ) -> bool:
        asked = WriteQuery(topic, role, claims or claims_of(role=role), extension)
        return (await self.ask(realtime.WRITE, asked, WriteAnswer)).is_allowed
