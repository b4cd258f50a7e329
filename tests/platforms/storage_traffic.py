"""Clients that write, replace, move, copy and delete without end, and know what must be there: for crashes in the middle.

Every client has keys of its own. What was acknowledged is known exactly. Where an answer did not come, or said 5xx, the key
is let alone from then on, and either outcome is right. What follows, once all is quiet: sweep without grace, then rows and
blobs must name the same versions, and every key must hold what one of its histories left.
"""

import asyncio
import hashlib
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO

import aiohttp
import asyncpg

from broker.blobs.blob_names import OBJECTS, STAGING, TRANSFORMS, BlobFolder
from broker.blobs.store import BlobStore
from schemas.settings.storage import Storage
from tests.platform import Platform
from workers.database.connection_pool.pool import ConnectionPool
from workers.storage.pool import LOGIN
from workers.storage.sweeps.sweep import OrphanSweep, StagingSweep, sweep_tombstones

PATIENCE_S = 60.0
BUCKETS = ("first", "second")
_SIZES = (0, 700, 9_000, 90_000, 1_300_000)
_MOST_KEYS = 12
_LOOKS_AT_ONCE = 16
_SHORTEST_S, _LONGEST_S = 0.02, 0.4
"""Pauses of a client whose requests come to nothing: whoever is down is not asked without end."""
_LOST = (aiohttp.ClientError, TimeoutError, ConnectionError)
_BUSY = """
select count(*) from pg_stat_activity where usename = $1 and state <> 'idle' and pid <> pg_backend_pid()
"""


def content(number: int) -> bytes:
    """Give bytes that no other number has."""
    seed = hashlib.sha256(str(number).encode()).digest()
    size = _SIZES[number % len(_SIZES)]
    return (seed * (size // len(seed) + 1))[:size] + str(number).encode()


@dataclass(slots=True)
class AcknowledgedObjects:
    """What the clients were told. A key has its bucket before it; a content is its number."""

    held: dict[str, int] = field(default_factory=dict)
    """Acknowledged, and not touched since."""
    gone: set[str] = field(default_factory=set)
    doubtful: dict[str, set[int | None]] = field(default_factory=dict)
    """What may be there, None: nothing."""
    moves: list[tuple[str, str]] = field(default_factory=list)
    """Moves nobody knows of: one of the two is there, never both, never none."""
    done: int = 0
    lost: int = 0
    odd: list[str] = field(default_factory=list)
    """Answers that must not be."""


class Client:
    """One client. It ends when it is told to."""

    def __init__(
        self, platform: Platform, name: str, known: AcknowledgedObjects, numbers: "asyncio.Queue[int]"
    ) -> None:
        self._url, self._name, self._known = f"{platform.url}/storage/v1", name, known
        key = platform.values["SERVICE_ROLE_KEY"]
        self._headers = {"apikey": key, "Authorization": f"Bearer {key}"}
        self._random = random.Random(name)
        self._numbers = numbers
        self._own: list[str] = []
        self._pause_s = _SHORTEST_S

    async def run(self, stop: asyncio.Event) -> None:
        """Do one thing after the other."""
        timeout = aiohttp.ClientTimeout(total=PATIENCE_S)
        async with aiohttp.ClientSession(headers=self._headers, timeout=timeout) as session:
            # The client would repeat a DELETE by itself when its connection breaks, and then hear 404 of what it did.
            session._retry_connection = False
            while not stop.is_set():
                await self._step(session)

    async def _step(self, session: aiohttp.ClientSession) -> None:
        usual = ("put", "replace", "move", "copy", "delete") if self._own else ("put",)
        what = "delete" if len(self._own) >= _MOST_KEYS else self._random.choice(usual)
        if what == "put":
            await self._put(session, self._fresh(), is_new=True)
        elif what == "replace":
            await self._put(session, self._random.choice(self._own), is_new=False)
        elif what == "delete":
            await self._delete(session, self._random.choice(self._own))
        else:
            await self._carry(session, what, self._random.choice(self._own), self._fresh())

    def _fresh(self) -> str:
        return f"{self._random.choice(BUCKETS)}/{self._name}/{self._random.getrandbits(64):x}"

    async def _put(self, session: aiohttp.ClientSession, key: str, *, is_new: bool) -> None:
        number, before = self._numbers.get_nowait(), self._known.held.get(key)
        own = {"x-upsert": str(not is_new).lower(), "content-type": "text/plain"}
        status = await self._ask(
            session, "POST", f"/object/{key}", data=BytesIO(content(number)), headers=own
        )
        if status is None:
            self._doubt(key, {before, number})
        else:
            self._known.held[key] = number
            if is_new:
                self._own.append(key)

    async def _delete(self, session: aiohttp.ClientSession, key: str) -> None:
        if await self._ask(session, "DELETE", f"/object/{key}") is None:
            self._doubt(key, {self._known.held.get(key), None})
        else:
            self._own.remove(key)
            del self._known.held[key]
            self._known.gone.add(key)

    async def _carry(self, session: aiohttp.ClientSession, what: str, key: str, to: str) -> None:
        (bucket, _, name), (to_bucket, _, to_name) = key.partition("/"), to.partition("/")
        told = {
            "bucketId": bucket,
            "sourceKey": name,
            "destinationBucket": to_bucket,
            "destinationKey": to_name,
        }
        number = self._known.held[key]
        is_known = await self._ask(session, "POST", f"/object/{what}", json=told) is not None
        if not is_known and what == "move":
            self._known.moves.append((key, to))
            self._doubt(key, {number, None})
        if not is_known:
            self._doubt(to, {number, None})
            return
        self._known.held[to] = number
        self._own.append(to)
        if what == "move":
            self._own.remove(key)
            del self._known.held[key]
            self._known.gone.add(key)

    def _doubt(self, key: str, what: set[int | None]) -> None:
        self._known.doubtful[key] = what
        self._known.held.pop(key, None)
        if key in self._own:
            self._own.remove(key)

    async def _ask(
        self, session: aiohttp.ClientSession, method: str, path: str, **more: object
    ) -> int | None:
        """Give the status of what was done; None where nobody knows."""
        try:
            async with session.request(method, self._url + path, **more) as answer:  # type: ignore[arg-type]  # as the library takes them
                told = await answer.read()
        except _LOST:
            await self._lost()
            return None
        if answer.status == 200:
            self._known.done += 1
            self._pause_s = _SHORTEST_S
            return 200
        if answer.status < 500:
            self._known.odd.append(f"{method} {path}: {answer.status} {told[:200]!r}")
        await self._lost()
        return None

    async def _lost(self) -> None:
        self._known.lost += 1
        await asyncio.sleep(self._pause_s * self._random.uniform(0.5, 1))
        self._pause_s = min(2 * self._pause_s, _LONGEST_S)


@asynccontextmanager
async def traffic(platform: Platform, name: str, clients: int = 6) -> AsyncIterator[AcknowledgedObjects]:
    """Have clients work while a block runs; then they end, and what they know is whole."""
    known, stop = AcknowledgedObjects(), asyncio.Event()
    numbers: asyncio.Queue[int] = asyncio.Queue()
    for number in range(100_000):
        numbers.put_nowait(number)
    async with asyncio.TaskGroup() as group:
        for number in range(clients):
            group.create_task(Client(platform, f"{name}-{number}", known, numbers).run(stop))
        try:
            yield known
        finally:
            stop.set()


async def more_done(known: AcknowledgedObjects, count: int) -> None:
    """Wait until so many further things were done."""
    wanted, deadline = known.done + count, time.monotonic() + PATIENCE_S
    while known.done < wanted:
        assert time.monotonic() < deadline, f"{known.done} of {wanted} done, {known.lost} lost"
        await asyncio.sleep(0.02)


async def make_buckets(platform: Platform) -> None:
    """Make the buckets of the clients."""
    key = platform.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        for name in BUCKETS:
            async with session.post(f"{platform.url}/storage/v1/bucket", json={"name": name}) as answer:
                assert answer.status == 200, await answer.text()


@dataclass(slots=True)
class RemainingObjects:
    """What is there when all is swept: versions by their names."""

    rows: set[str]
    blobs: set[str]
    transforms: set[str]
    staging: list[str]
    orphans: int
    """How many blobs without a row the sweep found."""


async def swept(platform: Platform, own: Storage | None = None) -> RemainingObjects:
    """Wait until nothing is under way, sweep without grace, and give what is left. `own` says where the bytes lie."""
    database_url = platform.login_url(LOGIN)
    blobs = BlobStore.open(own or Storage(), platform.data)
    pool = await ConnectionPool.open(database_url, 2)
    admin = await asyncpg.connect(database_url)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while await admin.fetchval(_BUSY, LOGIN):
            assert time.monotonic() < deadline, "something goes on in the database"
            await asyncio.sleep(0.05)
        while await sweep_tombstones(pool, blobs, 0):
            pass
        await StagingSweep(blobs, age_s=-60).sweep()
        orphans = OrphanSweep(pool, blobs, age_s=-60)
        count = await orphans.sweep() + await orphans.sweep()
        rows = {row["version"] for row in await admin.fetch("select version from storage.objects")}
        return RemainingObjects(
            rows,
            {str(each) for each in await _versions(blobs, OBJECTS)},
            {str(each) for each in await _versions(blobs, TRANSFORMS)},
            [each.place.name async for each in blobs.list(STAGING)],
            count,
        )
    finally:
        await admin.close()
        await pool.close()
        await blobs.close()


async def _versions(blobs: BlobStore, folder: BlobFolder) -> list[object]:
    return [each.place.version async for each in blobs.list(folder)]


async def differences(platform: Platform, known: AcknowledgedObjects) -> list[str]:
    """Compare what is served with what clients know; give every difference in words."""
    key = platform.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "Authorization": f"Bearer {key}"}
    found: list[str] = []
    there: dict[str, bool] = {}
    places = asyncio.Semaphore(_LOOKS_AT_ONCE)
    expected: dict[str, set[int | None]] = {key: {None} for key in known.gone}
    expected.update({key: {number} for key, number in known.held.items()})
    expected.update(known.doubtful)
    async with aiohttp.ClientSession(headers=headers) as session:

        async def look(key: str, allowed: set[int | None]) -> None:
            async with places, session.get(f"{platform.url}/storage/v1/object/{key}") as answer:
                body = await answer.read()
            there[key] = answer.status == 200
            fits = body in [content(each) for each in allowed if each is not None]
            if not (fits if there[key] else None in allowed and answer.status == 400):
                found.append(f"{key}: {answer.status}, {len(body)} bytes, allowed are {allowed}")

        await asyncio.gather(*(look(key, allowed) for key, allowed in expected.items()))
    found += [f"{one} and {other}: both, or none" for one, other in known.moves if there[one] == there[other]]
    return found
