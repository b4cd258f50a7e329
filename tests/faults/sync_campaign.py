"""Shapes under faults: `python -m tests.faults.sync_campaign --minutes 10 --seed 1`.

Three clients (two users under policies that read another table, and the service role with a filter) follow shapes of one table,
while eight writers run transactions with savepoints, of which some are rolled back, rights move, parts of the platform are killed,
and the clients cut their own connections. At the end each client must have exactly what a SELECT of its caller shows, byte for byte, no
client may have received a message that does not fit what it had, and every transaction that was acknowledged is stored once. Exit
code 1 otherwise.
"""

import argparse
import asyncio
import contextlib
import json
import random
import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import asyncpg
import jwt

from tests.faults.campaign_platform import CampaignPlatform, running_platform
from tests.faults.faults import carry_out
from tests.faults.jobs import receivers
from tests.faults.plan import FaultKind, PlannedFault
from tests.faults.sync_clients import CampaignClient, Row

WRITERS = 8
IDS = 400
"""Rows are written again and again: clients must be told of each end state."""
KINDS = (
    *(FaultKind("kill", name) for name in ("edges", "changes", "backend", "nats", "postgres", "pools")),
    FaultKind("stop", "changes", (0.5, 2.0)),
    FaultKind("restart", "nats"),
    FaultKind("restart", "postgres"),
)
_ALICE, _BOB = "a11ce000-0000-4000-8000-000000000001", "b0b00000-0000-4000-8000-000000000002"
_SETTLE_S, _LOOK_S, _PAUSE_S = 90.0, 0.25, 0.05
_SCHEMA = """
create table sync_members (team int, member uuid, primary key (team, member));
create table sync_items (id bigint primary key, owner uuid, team int not null, body text, n int not null);
create table sync_log (id bigint generated always as identity primary key, mark text not null);
alter table sync_items enable row level security;
create policy p on sync_items for select to authenticated using (
  owner = auth.uid() or team in (select m.team from sync_members m where m.member = auth.uid()));
grant select on sync_items, sync_members to anon, authenticated, service_role;
insert into sync_members values (1, '{alice}'), (2, '{bob}');
insert into sync_items select n, '{alice}', n % 4, md5(n::text), n from generate_series(1, 200) n;
"""
_LOST = (
    asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What a campaign found. `differing`: clients that did not get to what SELECT shows, with what they lack and have too much."""

    faults: dict[str, int]
    acknowledged: int
    unknown: int
    lost: int
    doubled: int
    clients: list[CampaignClient]
    differing: dict[str, str]
    settled_s: float

    @property
    def is_kept(self) -> bool:
        """Whether every promise was kept."""
        mistakes = any(client.mistakes() for client in self.clients)
        return not (self.lost or self.doubled or self.differing or mistakes)

    def __str__(self) -> str:
        lines = [
            f"{sum(self.faults.values())} faults: {', '.join(f'{name} {count}' for name, count in self.faults.items())}",
            f"{self.acknowledged} transactions acknowledged, {self.unknown} of unknown outcome, {self.lost} lost, {self.doubled} doubled",
            f"all clients equal to SELECT {self.settled_s:.1f} s after the last fault"
            if not self.differing
            else "",
        ]
        for client in self.clients:
            saw = ", ".join(f"{name} {count}" for name, count in sorted(client.saw.items()))
            state = self.differing.get(client.name, f"equal to SELECT ({len(client.rows)} rows)")
            lines.append(f"{client.name}: {state}; {saw}; wrong: {client.mistakes() or 'nothing'}")
        return "\n".join([*lines, "Every promise was kept." if self.is_kept else "A PROMISE WAS BROKEN."])


async def run_sync_campaign(
    plan: Sequence[PlannedFault], lasts_s: float, seed: int = 1, *, logs: Path | None = None
) -> SyncResult:
    """Start a platform, its writers and clients, carry the plan out, and compare."""
    async with receivers() as servers, running_platform(servers, logs) as place:
        place.platform.psql(_SCHEMA.format(alice=_ALICE, bob=_BOB))
        place.platform.wait_for_catalog("sync_items")
        clients = _clients(place, seed)
        marks: dict[str, bool] = {}
        faults: dict[str, int] = {}
        async with _running([client.run() for client in clients]):
            writers = [_write(place, random.Random(seed * 100 + n), f"{n}", marks) for n in range(WRITERS)]
            async with _running(writers):
                start = time.monotonic()
                for fault in plan:
                    await asyncio.sleep(max(0.0, start + fault.at_s - time.monotonic()))
                    if time.monotonic() > start + lasts_s:
                        break
                    await carry_out(place, fault)
                    faults[fault.kind.name] = faults.get(fault.kind.name, 0) + 1
                await asyncio.sleep(max(0.0, start + lasts_s - time.monotonic()))
            ended = time.monotonic()
            differing = await _settle(place, clients)
            settled_s = time.monotonic() - ended
        stored = await _stored(place)
        lost = sum(is_acknowledged and mark not in stored for mark, is_acknowledged in marks.items())
        doubled = sum(count > 1 for count in stored.values())
        known = sum(marks.values())
        return SyncResult(faults, known, len(marks) - known, lost, doubled, clients, differing, settled_s)


def _clients(place: CampaignPlatform, seed: int) -> list[CampaignClient]:
    values = place.platform.values

    def of(name: str, where: str, subject: str | None, **query: str) -> CampaignClient:
        token = values["SERVICE_ROLE_KEY"]
        if subject is not None:
            claims = {"sub": subject, "role": "authenticated", "exp": int(time.time()) + 86400}
            token = jwt.encode(claims, values["JWT_SECRET"])
        headers = {"apikey": values["ANON_KEY"], "authorization": f"Bearer {token}"}
        asked = {"table": "sync_items", **({"where": where} if where else {}), **query}
        choice = random.Random(f"{seed} {name}")
        return CampaignClient(name, place.platform.url, headers, asked, where or "true", choice)

    return [
        of("alice", "", _ALICE),
        of("bob", "", _BOB, replica="full"),
        of("service", "team < 2", None),
    ]


@contextlib.asynccontextmanager
async def _running(works: Sequence[object]) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(work) for work in works]  # type: ignore[call-overload]  # coroutines
    try:
        yield
    finally:
        for task in tasks:
            if task.done() and not task.cancelled():
                task.result()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _write(place: CampaignPlatform, choice: random.Random, name: str, marks: dict[str, bool]) -> None:
    """Run transactions until cancelled; `marks` says of each whether its commit was acknowledged."""
    number = 0
    while True:
        try:
            session = await asyncpg.connect(place.platform.values["DB_URL"], timeout=10, command_timeout=20)
        except _LOST:
            await asyncio.sleep(_PAUSE_S)
            continue
        try:
            while True:
                number += 1
                await _transaction(session, choice, f"{name}/{number}", marks)
                await asyncio.sleep(choice.uniform(0.0, _PAUSE_S))
        except asyncpg.DeadlockDetectedError:
            pass
        except _LOST:
            await asyncio.sleep(_PAUSE_S)
        finally:
            session.terminate()


async def _transaction(
    session: asyncpg.Connection, choice: random.Random, mark: str, marks: dict[str, bool]
) -> None:
    aborts = choice.random() < 0.15
    lines = ["begin", f"insert into sync_log (mark) values ('{mark}')"]
    for savepoint in range(choice.randint(1, 3)):
        lines += [f"savepoint s{savepoint}", _change(choice)]
        if choice.random() < 0.25:
            lines.append(f"rollback to s{savepoint}")
    for line in lines:
        await session.execute(line)
    if aborts:
        await session.execute("rollback")
        return
    marks[mark] = False
    await session.execute("commit")
    marks[mark] = True


def _change(choice: random.Random) -> str:
    id, team = choice.randint(1, IDS), choice.randint(0, 3)
    owner = choice.choice((_ALICE, _BOB))
    body = quote(str(choice.random()))
    return choice.choice((
        f"insert into sync_items values ({id}, '{owner}', {team}, '{body}', 1) on conflict (id) do update set body = excluded.body, n = sync_items.n + 1",
        f"insert into sync_items values ({id}, '{owner}', {team}, '{body}', 1) on conflict (id) do update set team = excluded.team, owner = excluded.owner",
        f"update sync_items set n = n + 1, body = '{body}' where id between {id} and {id + 5}",
        f"delete from sync_items where id = {id}",
        f"update sync_items set id = id + {IDS} where id = {id} and not exists (select from sync_items where id = {id + IDS})",
        f"insert into sync_members values ({team}, '{owner}') on conflict do nothing",
        f"delete from sync_members where team = {team} and member = '{owner}'",
    ))  # fmt: skip


async def _settle(place: CampaignPlatform, clients: Sequence[CampaignClient]) -> dict[str, str]:
    """Wait until each client has what a SELECT of its caller shows; return how those differ that do not get there."""
    deadline = time.monotonic() + _SETTLE_S
    while True:
        differing: dict[str, str] = {}
        with contextlib.suppress(*_LOST):
            session = await asyncpg.connect(place.platform.values["DB_URL"], timeout=10)
            try:
                for client in clients:
                    expected = await _selected(session, client)
                    if not client.has(expected):
                        differing[client.name] = _difference(client, expected)
            finally:
                session.terminate()
            if not differing:
                return {}
        if time.monotonic() > deadline:
            return differing
        await asyncio.sleep(_LOOK_S)


async def _selected(session: asyncpg.Connection, client: CampaignClient) -> dict[str, Row]:
    role, claims = "service_role", {"role": "service_role"}
    if client.name != "service":
        role = "authenticated"
        claims = {"sub": _ALICE if client.name == "alice" else _BOB, "role": role}
    async with session.transaction():
        await session.execute("select set_config('request.jwt.claims', $1, true)", json.dumps(claims))
        await session.execute(f"set local role {role}")
        columns = "id::text, owner::text, team::text, body, n::text"
        rows = await session.fetch(f"select {columns} from sync_items where {client.where}")
    return {row["id"]: dict(row) for row in rows}


def _difference(client: CampaignClient, expected: dict[str, Row]) -> str:
    had = {str(row["id"]): row for row in client.rows.values()}
    lacks, extra = expected.keys() - had.keys(), had.keys() - expected.keys()
    other = [id for id in expected.keys() & had.keys() if expected[id] != had[id]]
    return f"DIFFERS: lacks {len(lacks)}, has {len(extra)} too many, {len(other)} with other values"


async def _stored(place: CampaignPlatform) -> dict[str, int]:
    session = await asyncpg.connect(place.platform.values["DB_URL"], timeout=60)
    try:
        rows = await session.fetch("select mark, count(*) as times from sync_log group by mark")
    finally:
        await session.close()
    return {row["mark"]: row["times"] for row in rows}


def planned(seed: int, minutes: float, rest_s: tuple[float, float] = (3.0, 6.0)) -> list[PlannedFault]:
    """Return the faults of a campaign: each kind once before any comes again."""
    choice, at_s, deck, faults = random.Random(seed), 5.0, list[FaultKind](), list[PlannedFault]()
    while at_s < minutes * 60 - rest_s[1]:
        if not deck:
            deck = list(KINDS)
            choice.shuffle(deck)
        kind = deck.pop()
        lasts_s = choice.uniform(*kind.lasts_s)
        faults.append(PlannedFault(at_s, kind, lasts_s))
        at_s += lasts_s + choice.uniform(*rest_s)
    return faults


async def main() -> None:
    """Run a campaign by hand."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--logs", type=Path)
    options = parser.parse_args()
    plan = planned(options.seed, options.minutes)
    result = await run_sync_campaign(plan, options.minutes * 60, options.seed, logs=options.logs)
    print(result)
    sys.exit(0 if result.is_kept else 1)


if __name__ == "__main__":
    asyncio.run(main())
