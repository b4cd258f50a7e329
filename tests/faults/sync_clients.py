"""Clients of shapes for the campaign: each keeps the rows of a shape over faults, as the protocol says, and counts what is wrong."""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import aiohttp

_LONGEST_S = 40.0
_PAUSE_S = 0.2
Row = dict[str, str | None]


@dataclass
class CampaignClient:
    """One client. `url` is that of the gateway; `odds` of cutting its own connection in the middle of a request."""

    name: str
    url: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    where: str
    """The same filter, for SELECT."""
    choice: random.Random
    odds: float = 0.1
    rows: dict[str, Row] = field(default_factory=dict)
    handle: str = ""
    offset: str = "-1"
    position: int = 0
    saw: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    """Messages that no client may get: an insert of a row that is there, changes of one that is not, positions that go back."""
    current_at: float = 0.0

    async def run(self) -> None:
        """Follow the shape until cancelled."""
        async with aiohttp.ClientSession(
            headers=dict(self.headers), timeout=aiohttp.ClientTimeout(total=_LONGEST_S)
        ) as session:
            is_current = False
            while True:
                try:
                    is_current = await self._step(session, is_live=is_current)
                except (aiohttp.ClientError, TimeoutError, OSError, json.JSONDecodeError):
                    self.saw["broken connection"] += 1
                    await asyncio.sleep(_PAUSE_S)

    async def _step(self, session: aiohttp.ClientSession, *, is_live: bool) -> bool:
        query = {**self.query, "offset": self.offset}
        if self.offset != "-1":
            query["handle"] = self.handle
            if is_live:
                query["live"] = "true"
        cut_s = self.choice.uniform(0.0, 2.0) if self.choice.random() < self.odds else _LONGEST_S
        async with asyncio.timeout(cut_s), session.get(f"{self.url}/sync/v1/shape", params=query) as answer:
            text = await answer.read()
        self.saw[str(answer.status)] += 1
        if answer.status == 409:
            self.rows, self.handle, self.offset, self.position = {}, "", "-1", 0
            return False
        if answer.status != 200:
            if answer.status not in (429, 503, 504):
                self.wrong[f"status {answer.status}: {text[:80]!r}"] += 1
            await asyncio.sleep(_PAUSE_S)
            return is_live
        messages = json.loads(text)
        self.handle, self.offset = answer.headers["electric-handle"], answer.headers["electric-offset"]
        is_current = False
        for message in messages:
            is_current |= self._take(message)
        if is_current:
            self.current_at = time.monotonic()
        return is_current

    def _take(self, message: dict[str, object]) -> bool:
        headers = message["headers"]
        assert isinstance(headers, dict)
        if headers.get("control") == "up-to-date":
            position = int(headers["global_last_seen_lsn"])
            self.wrong["a position went back"] += position < self.position
            self.position = position
            return True
        operation = headers.get("operation")
        if operation is None:
            return False
        key, value = str(message["key"]), message["value"]
        assert isinstance(value, dict)
        self.saw[f"{operation}s"] += 1
        self.wrong["an insert of a row that is there"] += operation == "insert" and key in self.rows
        self.wrong[f"an {operation} of no row"] += operation != "insert" and key not in self.rows
        self.wrong["a change below the position"] += (
            "lsn" in headers and int(headers["lsn"]) <= self.position - 1
        )
        if operation == "delete":
            self.rows.pop(key, None)
        else:
            self.rows[key] = {**self.rows.get(key, {}), **value}
        return False

    def has(self, expected: dict[str, Row]) -> bool:
        """Return whether it has exactly these rows, by their `id`."""
        return {str(row["id"]): row for row in self.rows.values()} == expected

    def mistakes(self) -> dict[str, int]:
        """Return what was wrong."""
        return {name: count for name, count in self.wrong.items() if count}
