"""Reads and inserts as a user on Headwater and on the server written by hand, from and into the same tables of one Postgres."""

import asyncio
import json
import urllib.request
from collections.abc import Iterator

import jwt

from tests.bench.cpu import groups_of
from tests.bench.load import http
from tests.bench.peers.fastify import FastifyServer
from tests.bench.peers.pairs import Sample, Side, counted
from tests.bench.peers.records import ROW, Work, driven
from tests.bench.rest import stored
from tests.platform import Platform

_ROWS = 2000
_AT_ONCE = 32


class ByHand:
    """A platform and a server before its Postgres."""

    def __init__(self, one: Platform, other: FastifyServer) -> None:
        self.one, self.other = one, other
        self.token = jwt.encode(
            {"role": "authenticated", "sub": "user-7"}, one.values["JWT_SECRET"], algorithm="HS256"
        )
        self.theirs = {"Authorization": f"Bearer {self.token}"}
        self.ours = {"apikey": one.values["ANON_KEY"], **self.theirs}

    def works(self) -> Iterator[Work]:
        """Yield the pieces of work. Raises: SystemExit where the answers differ."""
        self._check_rows()
        here, there = f"127.0.0.1:{self.one.port}", f"127.0.0.1:{self.other.port}"
        numbers = range(1, _ROWS + 1)
        yield (
            "by key",
            self._here([http("GET", f"/rest/v1/items?id=eq.{n}", here, self.ours) for n in numbers]),
            self._there([http("GET", f"/items/{n}", there, self.theirs) for n in numbers]),
        )
        body, minimal = json.dumps(ROW).encode(), {**self.ours, "Prefer": "return=minimal"}
        yield (
            "insert",
            counted(self._here([http("POST", "/rest/v1/sink", here, minimal, body)]), self._stored),
            counted(self._there([http("POST", "/sink", there, self.theirs, body)]), self._stored),
        )

    def _check_rows(self) -> None:
        asked = urllib.request.Request(f"{self.one.url}/rest/v1/items?id=eq.17", headers=self.ours)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            (row,) = json.load(answer)
        if row != (there := self.other.row(17, self.token)):
            raise SystemExit(f"by key: {row} here, {there} there")

    def _stored(self) -> int:
        return asyncio.run(stored(self.one.values["DB_URL"]))

    def _here(self, requests: list[bytes]) -> Side:
        return lambda seconds: driven(
            ("127.0.0.1", self.one.port), requests, [self.one.pid], _AT_ONCE, seconds
        )

    def _there(self, requests: list[bytes]) -> Side:
        """Return a side whose processes are the server and the Postgres that both ask, with the readers of its log."""

        def side(seconds: float) -> Sample:
            postgres = [pid for pid, group in groups_of([self.one.pid]).items() if group == "postgres"]
            address = ("127.0.0.1", self.other.port)
            return driven(address, requests, [self.other.pid, *postgres], _AT_ONCE, seconds)

        return side
