"""The tables with history as the leader knows them: what their comments ask for is switched on and off, and read again when the schema changes."""

from collections.abc import Mapping

from broker.observability.observe import observe
from schemas.table_directives import InvalidDirective, read_directive
from workers.database.errors import DatabaseError
from workers.database.sessions.leadership import Leadership
from workers.history.observations import HistoryRejected, HistorySwitched
from workers.history.statements import SQL
from workers.history.versions import TrackedTable

_REASONS = {
    "days": "days of history are 1 to 3650",
    "kind": "only ordinary tables that are written to the log can have a history: no views, no partitions, no unlogged tables",
    "platform": "tables of the platform's own schemas have no history",
    "key": "a table with history needs a primary key",
    "generated": "the table has generated columns, which publications have from Postgres 18 on",
    "virtual": "the table has virtual generated columns, with which Postgres allows no updates under a full replica identity",
    "unpublished": "a publication of the table lacks its generated columns: set (publish_generated_columns = stored)",
    "identity": "the table has neither a primary key nor another replica identity",
    "columns": "a publication of realtime lists columns of the table",
}
_BUSY = "55P03"
"""The table was in use for longer than the lock may be waited for; the next look tries again."""


class HistoryTables:
    """`by_relation` has the tables whose changes are stored, by oid."""

    def __init__(self, leadership: Leadership) -> None:
        self._leadership = leadership
        self._rejected: dict[int, str] = {}
        self.by_relation: Mapping[int, TrackedTable] = {}
        self.has_busy = False
        """A table could not be switched, because it was in use."""

    async def follow(self) -> None:
        """Switch what comments ask for, and read the tables. Raises: DatabaseError, LeadershipLost."""
        self.has_busy = False
        for row in await self._leadership.ask(SQL["comments"]):
            name = f"{row['schema']}.{row['name']}"
            try:
                wanted = read_directive(row["comment"]).history
            except InvalidDirective as error:
                self._reject(row["relation"], name, str(error))
                continue  # a history that is on stays: a typing error must not end it
            if wanted is None:
                if row["is_on"]:
                    await self._off(row["id"], name)
            elif not row["is_on"] or row["is_changed"] or row["days"] != wanted.days:
                await self._on(row["relation"], name, wanted.days, row["id"] if row["is_on"] else None)
        for row in await self._leadership.ask(SQL["gone"]):
            await self._off(row["id"], "a table that was dropped")
        await self.read()

    async def read(self) -> None:
        """Read the tables. One whose history is off stays among them until changes behind its end are read. Raises: as `follow`."""
        rows = await self._leadership.ask(SQL["tables"])
        self.by_relation = {
            row["relation"]: TrackedTable(
                row["id"], f"{row['schema']}.{row['name']}", tuple(row["key"]), row["since_lsn"], row["is_on"]
            )
            for row in rows
        }

    async def _on(self, relation: int, name: str, days: int, id: int | None) -> None:
        """Switch a history on; `id` is that of one which is on and has to be brought up to date."""
        try:
            [[problem]] = await self._leadership.ask(SQL["publish"], relation)
            if not problem:
                [[problem]] = await self._leadership.ask(SQL["on"], relation, days)
        except DatabaseError as error:
            self._note_failure(relation, name, error)
            return
        if problem:
            self._reject(relation, name, _REASONS.get(problem, problem))
            if id is not None:  # a migration made it impossible: the table must go on taking updates
                await self._off(id, name)
            return
        self._rejected.pop(relation, None)
        if id is None:
            observe(HistorySwitched(name, True))

    async def _off(self, id: int, name: str) -> None:
        try:
            await self._leadership.ask(SQL["off"], id)
        except DatabaseError as error:
            self._note_failure(-id, name, error)
            return
        observe(HistorySwitched(name, False))

    def _note_failure(self, key: int, name: str, error: DatabaseError) -> None:
        if error.code == _BUSY:
            self.has_busy = True
        else:
            self._reject(key, name, f"SQLSTATE {error.code}")

    def _reject(self, key: int, name: str, reason: str) -> None:
        if self._rejected.get(key) != reason:
            self._rejected[key] = reason
            observe(HistoryRejected(name, reason))
