"""Work for a topology: rows, sign-ups and objects, written without a pause, and a record of what was acknowledged when."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count

import aiohttp

from tests.platforms.topology import PATIENCE_S, Topology

_ANSWER_S = 20
_PAUSE_S = 0.03
_LOOK_S, _LOOK_LIMIT_S = 0.2, 3.0
_CALM = 15
_FAULTS = (aiohttp.ClientError, ConnectionError, TimeoutError)


@dataclass
class Kind:
    """One kind of work: what was acknowledged, and when the last one failed."""

    name: str
    acknowledged: list[int] = field(default_factory=list)
    failures: list[tuple[float, str]] = field(default_factory=list)
    in_a_row: int = 0


@dataclass
class Proxy:
    """Gives the edges by turns, and leaves out those that say they are not ready, as a proxy with health checks does."""

    one: Topology
    ready: list[str] = field(default_factory=list)
    _turn: int = 0

    def edges(self) -> list[str]:
        """Return the addresses of all edges: those that are ready by turns, then the others."""
        self._turn += 1
        turn = self._turn % max(len(self.ready), 1)
        others = [edge for edge in self.one.edges if edge not in self.ready]
        return [*self.ready[turn:], *self.ready[:turn], *others]

    async def look(self) -> None:
        """Ask every edge again and again."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_LOOK_LIMIT_S)) as session:
            while True:
                answers = await asyncio.gather(*(self._is_ready(session, edge) for edge in self.one.edges))
                self.ready = [
                    edge for edge, is_ready in zip(self.one.edges, answers, strict=True) if is_ready
                ]
                await asyncio.sleep(_LOOK_S)

    async def _is_ready(self, session: aiohttp.ClientSession, edge: str) -> bool:
        try:
            async with session.get(f"{edge}/health/ready") as answer:
                return answer.status == 200
        except _FAULTS:
            return False


@dataclass
class Load:
    """All kinds of work against all edges, by turns; an edge that cannot be reached is skipped, as a proxy does."""

    one: Topology
    table: str
    proxy: "Proxy"
    session: aiohttp.ClientSession
    kinds: dict[str, Kind] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def rest(self, number: int) -> None:
        """Insert a row."""
        await self._ask("POST", f"/rest/v1/{self.table}", json={"id": number, "body": "x" * 40})

    async def graphql(self, number: int) -> None:
        """Read by GraphQL."""
        del number
        query = "{ __typename }"
        await self._ask("POST", "/graphql/v1", json={"query": query})

    async def auth(self, number: int) -> None:
        """Make a user."""
        user = {"email": email_of(self.table, number), "email_confirm": True}
        await self._ask("POST", "/auth/v1/admin/users", json=user)

    async def storage(self, number: int) -> None:
        """Upload an object."""
        await self._ask("POST", f"/storage/v1/object/{self.table}/o{number}", data=_content(number))

    async def heal(self) -> float:
        """Wait until each kind succeeds many times in a row; give how long the errors lasted since the call."""
        began = time.monotonic()
        for kind in self.kinds.values():
            kind.in_a_row = 0
        async with asyncio.timeout(PATIENCE_S):
            while any(kind.in_a_row < _CALM for kind in self.kinds.values()):
                self.changed.clear()
                await self.changed.wait()
        last = [at for kind in self.kinds.values() for at, _ in kind.failures if at > began]
        return max(last, default=began) - began

    async def read_back(self, number: int) -> bool:
        """Tell whether an object has the content that was uploaded."""
        async with self.session.get(f"{self.one.url}/storage/v1/object/{self.table}/o{number}") as answer:
            return answer.status == 200 and await answer.read() == _content(number)

    async def _ask(self, method: str, path: str, **more: object) -> None:
        for edge in self.proxy.edges():
            try:
                async with self.session.request(method, edge + path, **more) as answer:  # type: ignore[arg-type]  # what a request takes, by name
                    text = await answer.text()
                    if answer.status >= 300:
                        raise aiohttp.ClientError(f"{path}: {answer.status} {text[:120]}")
                    return
            except aiohttp.ClientConnectorError:  # nothing was sent
                continue
        raise aiohttp.ClientError("no edge can be reached")

    async def _work(self, kind: Kind, work: Callable[[int], Awaitable[None]]) -> None:
        for number in count(1):
            try:
                await work(number)
            except _FAULTS as error:
                kind.failures.append((time.monotonic(), str(error) or type(error).__name__))
                kind.in_a_row = 0
            else:
                kind.acknowledged.append(number)
                kind.in_a_row += 1
            self.changed.set()
            await asyncio.sleep(_PAUSE_S)


@contextlib.asynccontextmanager
async def loading(one: Topology, table: str) -> AsyncIterator[Load]:
    """Keep a topology at work until the end of the block; what it did stays readable for the block after it."""
    key = one.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "Authorization": f"Bearer {key}"}
    # A connection a request: one that is kept may be closed by its idle edge just as the next request goes out.
    async with aiohttp.ClientSession(
        headers=headers,
        timeout=aiohttp.ClientTimeout(total=_ANSWER_S),
        connector=aiohttp.TCPConnector(force_close=True),
    ) as session:
        async with session.post(
            f"{one.url}/storage/v1/bucket", json={"name": table, "public": False}
        ) as made:
            assert made.status == 200, await made.text()
        load = Load(one, table, Proxy(one), session)
        tasks = [asyncio.ensure_future(load.proxy.look())]
        for name in ("rest", "graphql", "auth", "storage"):
            load.kinds[name] = Kind(name)
            tasks.append(asyncio.ensure_future(load._work(load.kinds[name], getattr(load, name))))
        try:
            await load.heal()
            yield load
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _content(number: int) -> bytes:
    return f"object {number} ".encode() * 200


def email_of(table: str, number: int) -> str:
    """Give the address of the user that a load makes under a number."""
    return f"{table}-{number}@example.com"
