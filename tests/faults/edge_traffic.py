"""Writers that use one edge of a topology, and never repeat a row."""

import asyncio
import itertools

import aiohttp
import asyncpg

from tests.faults.ledger import Caller, Ledger, Meaning
from tests.platforms.topology import Topology

ROWS = "rows"
_HEALS_S = 90.0
_IN_A_ROW = 10


class EdgeTraffic:
    """Writers at one edge, and what they were answered."""

    def __init__(self, one: Topology, session: aiohttp.ClientSession, edge: int, table: str) -> None:
        self.ledger, self._ids, self._table = Ledger(), itertools.count(edge * 10**9), table
        self._caller = Caller(session, self.ledger, one.edges[edge], one.values["SERVICE_ROLE_KEY"])

    async def write(self) -> None:
        """Insert one row after another."""
        while True:
            id = next(self._ids)
            done = await self._caller.send(ROWS, id, "POST", f"/rest/v1/{self._table}", json={"id": id})
            await asyncio.sleep(0.02 if done is not None else 0.1)

    async def healed(self) -> None:
        """Wait until several writes in a row succeed."""
        seen = len(self.ledger.operations)
        async with asyncio.timeout(_HEALS_S):
            while True:
                last = self.ledger.operations[seen:][-_IN_A_ROW:]
                if len(last) == _IN_A_ROW and all(each.meaning is Meaning.ACKNOWLEDGED for each in last):
                    return
                await asyncio.sleep(0.05)

    def check(self, stored: dict[int, int]) -> None:
        """Every row that was acknowledged is stored once, none that was refused is, and every request ended."""
        assert set(stored.values()) == {1}
        assert self.ledger.ids(ROWS, Meaning.ACKNOWLEDGED) <= stored.keys()
        assert self.ledger.ids(ROWS, Meaning.REFUSED) & stored.keys() == set()
        assert not [each for each in self.ledger.operations if each.answer.startswith("none in")]
        assert self.ledger.strange == []


async def stored_rows(url: str, table: str) -> dict[int, int]:
    """Return how often each row is stored."""
    database = await asyncpg.connect(url)
    try:
        rows = await database.fetch(f"select id, count(*) as n from public.{table} group by id")
        return {row["id"]: row["n"] for row in rows}
    finally:
        await database.close()
