"""The webhooks as the leader knows them: read again when they or the schema change."""

import asyncio
import time
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from broker.observability.observe import observe
from schemas.keys.text_sealer import TextSealer
from schemas.webhooks import (
    InvalidWebhook,
    WebhookFilterColumn,
    WebhookSource,
    WebhookTarget,
    open_target,
    read_filters,
)
from workers.database.sessions.leadership import Leadership
from workers.webhooks.observations import WebhookGap, WebhookPaused
from workers.webhooks.row_events import RowWebhook
from workers.webhooks.statements import SQL

_PUBLISH_REASONS = {
    "identity": "the table has neither a primary key nor another replica identity",
    "columns": "a publication of realtime lists columns of the table",
    "kind": "it is no table that is written to the log",
}


class StoredWebhook(Struct, frozen=True):
    """A row of `headwater.webhooks`. `relation`: oid of its table, 0 without one. `failing_s`: for how long nothing has succeeded."""

    id: str
    name: str
    source: WebhookSource
    events: list[str]
    filters: list[str]
    sealed: str
    with_old: bool
    is_ordered: bool
    is_full: bool
    is_followed: bool
    is_paused: bool
    created_lsn: int
    relation: int
    parts: list[tuple[str, str]]
    schema: str | None = None
    table: str | None = None
    columns: list[str] | None = None
    failing_s: float | None = None


_decode = msgspec.json.Decoder(StoredWebhook).decode


class WebhookList:
    """All webhooks. `of_tables` has those of rows by the names under which their changes are published."""

    def __init__(self, leadership: Leadership, sealer: TextSealer) -> None:
        self._leadership, self._sealer = leadership, sealer
        self._published: set[int] = set()
        self._reading = asyncio.Lock()
        self._targets: dict[str, tuple[str, WebhookTarget | None]] = {}
        self.stored: Mapping[str, StoredWebhook] = {}
        self.of_tables: Mapping[tuple[str, str], list[RowWebhook]] = {}

    async def read(self) -> None:
        """Read all webhooks, and publish their tables. Raises: DatabaseError, LeadershipLost."""
        async with self._reading:  # else an older list could take the place of a newer one
            await self._read()

    async def _read(self) -> None:
        await self._leadership.ask(
            SQL["switch_causes"]
        )  # what was locked is switched when the list is read again
        rows = [_decode(row["row"]) for row in await self._leadership.ask(SQL["webhooks"])]
        self.stored = {row.id: row for row in rows}
        self._targets = {id: target for id, target in self._targets.items() if id in self.stored}
        of_tables: dict[tuple[str, str], list[RowWebhook]] = {}
        for row in rows:
            if row.source != "rows" or not row.relation or row.is_full:
                continue
            if (webhook := await self._row_webhook(row)) is not None:
                for name in {(webhook.schema, webhook.table), *row.parts}:
                    of_tables.setdefault(name, []).append(webhook)
        self.of_tables = of_tables
        self._published &= {row.relation for row in rows}

    def target(self, id: str) -> WebhookTarget | None:
        """Return where a webhook sends; None if its key is not configured."""
        sealed = self.stored[id].sealed
        known = self._targets.get(id)
        if known is None or known[0] != sealed:
            known = self._targets[id] = (sealed, open_target(self._sealer, id, sealed))
        return known[1]

    def secrets(self, id: str) -> list[str]:
        """Return the secrets that sign now, the present one first."""
        target = self.target(id)
        if target is None:
            return []
        return target.secrets if time.time() < target.former_until else target.secrets[:1]

    async def pause(self, id: str, reason: str) -> None:
        """Pause a webhook until it is resumed; one that was deleted meanwhile is none. Raises: DatabaseError, LeadershipLost."""
        webhook = self.stored.get(id)
        if webhook is not None:
            await self._leadership.ask(SQL["pause"], id, reason)
            observe(WebhookPaused(webhook.name, reason))

    async def note_gap(self, ids: list[str], reason: str) -> None:
        """Note that events of webhooks may be missing. Raises: DatabaseError, LeadershipLost."""
        if ids:
            await self._leadership.ask(SQL["gap"], ids, reason)
            observe(WebhookGap(", ".join(self.stored[id].name for id in ids if id in self.stored), reason))

    async def _row_webhook(self, row: StoredWebhook) -> RowWebhook | None:
        if row.relation not in self._published:
            answer = (await self._leadership.ask(SQL["publish"], row.relation))[0][0]
            if answer:
                await self.note_gap([row.id], _PUBLISH_REASONS.get(answer, answer))
                return None
            self._published.add(row.relation)
        try:
            filters = read_filters(row.filters, await self._columns(row)) if row.filters else []
        except InvalidWebhook as error:  # the table has changed since
            if not row.is_paused:
                await self.pause(row.id, str(error))
                await self.note_gap([row.id], str(error))
            return None
        assert row.schema is not None and row.table is not None  # noqa: PT018 - of a webhook of rows
        columns = None if row.columns is None else frozenset(row.columns)
        return RowWebhook(
            row.id,
            row.schema,
            row.table,
            frozenset(row.events),
            tuple(filters),
            columns,
            row.with_old,
            row.is_ordered,
            row.created_lsn,
        )

    async def _columns(self, row: StoredWebhook) -> list[WebhookFilterColumn]:
        found = await self._leadership.ask(SQL["columns"], row.relation)
        return [WebhookFilterColumn(column["name"], column["type"], column["is_enum"]) for column in found]
