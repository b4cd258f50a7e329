"""How the copy of one table does, in the table `headwater.stream_tables` and for the metrics of the process that leads."""

from dataclasses import dataclass

from broker.observability.observe import observe
from workers.database.sessions.leadership import Leadership
from workers.streams.model import CopyPlace
from workers.streams.observations import StreamFollowing, StreamRejected, StreamSnapshot, StreamTargetAway
from workers.streams.statements import SQL


@dataclass(frozen=True, slots=True)
class TableRequests:
    """What administrators request of a table: a pause; all rows once more, requested at a time that is a text of the database."""

    is_paused: bool = False
    copy_again_at: str | None = None


class TableState:
    """The state of `table` (schema and name) of `stream`. All methods raise DatabaseError, LeadershipLost."""

    def __init__(self, leadership: Leadership, stream: str, table: tuple[str, str], kind: str) -> None:
        self._leadership, self.stream, self._table, self._kind = leadership, stream, table, kind
        self.state, self._problem = "waiting", ""
        self.rows, self.lag_s, self.snapshots = 0, 0.0, 0

    @property
    def name(self) -> str:
        """Return the name of the table with its schema."""
        return ".".join(self._table)

    async def begin(self) -> None:
        """Have a row for the table."""
        await self._leadership.ask(SQL["begin"], *self.key, self._kind)

    async def place(self) -> tuple[CopyPlace | None, str, int]:
        """Return the place of a target that keeps none; and a place, and up to which number of the stream nothing followed it."""
        [row] = await self._leadership.ask(SQL["place"], *self.key)
        return CopyPlace.parse(row["place"]), row["idle_place"], row["idle_seq"]

    async def away(self, reason: str) -> None:
        """The target takes nothing."""
        if (self.state, self._problem) != ("away", reason):
            observe(StreamTargetAway(self.stream, self.name, reason))
        await self._set("away", reason)

    async def rejected(self, reason: str) -> None:
        """The table cannot be copied."""
        if (self.state, self._problem) != ("rejected", reason):
            observe(StreamRejected(self.stream, self.name, reason))
        await self._set("rejected", reason)

    async def paused(self) -> None:
        """An administrator paused it."""
        await self._set("paused", "")

    async def snapshot(self, reason: str) -> None:
        """All rows are being copied."""
        observe(StreamSnapshot(self.stream, self.name, reason))
        await self._set("snapshot", "", reason)

    async def following(self) -> None:
        """Changes are read."""
        if self.state == "away":
            observe(StreamFollowing(self.stream, self.name, 0))
        await self._set("following", "")

    async def copied_again(self, requested_at: str) -> None:
        """All rows were copied, as an administrator requested. A later request stays."""
        await self._leadership.ask(SQL["copied_again"], *self.key, requested_at)

    async def written(self, rows: int, lag_s: float, place: str, lsn: int) -> None:
        """The target has taken rows, and everything up to a position of the log."""
        if self.state == "snapshot":
            self.snapshots += 1
            observe(StreamFollowing(self.stream, self.name, rows))
        self.state, self._problem = "following", ""
        self.rows += rows
        self.lag_s = lag_s
        await self._leadership.ask(SQL["written"], *self.key, rows, lag_s, place, lsn)

    async def idle(self, place: CopyPlace, seq: int, lsn: int) -> None:
        """Nothing followed a place up to a number of the stream, and a position of the log."""
        self.lag_s = 0.0
        await self._leadership.ask(SQL["idle"], *self.key, place.as_text(), seq, lsn)

    async def _set(self, state: str, problem: str, reason: str = "") -> None:
        if (self.state, self._problem) != (state, problem) or state == "snapshot":
            self.state, self._problem = state, problem
            await self._leadership.ask(SQL["state"], *self.key, state, problem, reason)

    @property
    def key(self) -> tuple[str, str, str]:
        """Return the names of stream, schema and table."""
        return (self.stream, *self._table)
