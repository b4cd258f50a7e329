"""Faults under traffic: `python -m tests.faults.campaign --minutes 10 --seed 1`.

Clients write rows and objects, read, call functions, fill a queue, ask for mail and follow row changes, while parts of the
platform are killed, stopped, restarted and robbed of their disk. Then everything that was acknowledged is compared with what is
stored. Exit code 1: a promise was broken (something acknowledged is lost, something is stored twice, something refused is stored,
a follower misses a change and no gap is announced, or a part did not heal).
"""

import argparse
import asyncio
import contextlib
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import asyncpg

from tests.faults import events_out, writers
from tests.faults.campaign_platform import CampaignPlatform, running_platform
from tests.faults.faults import carry_out
from tests.faults.followers import CountingFollower, FollowerCounts, compare, make_followers
from tests.faults.jobs import JobCounts, Receivers, count_jobs, receivers
from tests.faults.ledger import Ledger, Meaning
from tests.faults.plan import KINDS, WIPED, PlannedFault, planned_faults
from tests.faults.reckoning import TIMED, FaultRecord, Outcome, StoredData, outcomes
from tests.faults.table import fault_table, job_table, pause_table
from tests.faults.uploaders import OBJECTS, make_bucket, stored_objects, upload
from tests.faults.writers import MAIL, ROWS
from tests.platforms.realtime_followers import following

_WRITERS, _READERS, _UPLOADERS, _CALLERS = 12, 2, 3, 2
"""So many writers that they wait for the disk together (workers/database/connection_pool/shared_commits.py)."""
_RESUMING, _PLAIN = 2, 1
_HEAL_S, _SETTLE_S = 90.0, 60.0
_LOOK_S = 0.2


@dataclass(frozen=True, slots=True)
class Result:
    """What a campaign found."""

    outcomes: list[Outcome]
    jobs: list[JobCounts]
    faults: list[FaultRecord]
    wrong: list[str]
    """Broken promises that no fault's row counts, in words."""
    operations: int
    rows: int
    objects: int

    @property
    def is_kept(self) -> bool:
        """Whether every promise was kept."""
        return not (
            self.wrong
            or any(each.broken or each.unhealed for each in self.outcomes)
            or any(each.broken for each in self.jobs)
        )

    def __str__(self) -> str:
        remarks = [f"{each.name}: {each.remark}" for each in self.faults if each.remark]
        late = [
            f"{each.name}: nothing of {', '.join(each.unhealed)} before the next fault"
            for each in self.outcomes
            if each.unhealed
        ]
        return "\n\n".join([
            fault_table(self.outcomes), pause_table(self.outcomes), job_table(self.jobs), "\n".join([*remarks, *late]),
            f"{len(self.faults)} faults, {self.operations} operations, {self.rows} rows and {self.objects} objects stored",
            "\n".join(self.wrong),
            "Every promise was kept." if self.is_kept else "A PROMISE WAS BROKEN.",
        ])  # fmt: skip


async def run_campaign(
    plan: Sequence[PlannedFault],
    lasts_s: float,
    *,
    say: bool = True,
    logs: Path | None = None,
) -> Result:
    """Start a platform and its traffic, carry the plan out, let it heal, and count.

    A fault begins only when every kind of operation succeeds again after the one before it, or it would be counted as
    survived although nothing was left to harm. What has not healed within `_HEAL_S` ends the campaign, which has failed.
    """
    ledger = Ledger()
    async with receivers() as servers, running_platform(servers, logs, events_out.ENVIRONMENT) as place:
        await asyncio.to_thread(events_out.prepare, place.platform, servers)
        followers = make_followers(place.platform, ledger, _RESUMING, _PLAIN)
        async with following(*followers):
            async with _traffic(place, ledger):
                faults = list[FaultRecord]()
                start = time.monotonic()
                unhealed = await _unhealed(ledger, "the start")
                for fault in [] if unhealed else plan:
                    await asyncio.sleep(max(0.0, start + fault.at_s - time.monotonic()))
                    faults.append(await _strike(place, fault))
                    if say:
                        print(
                            f"{faults[-1].began - start:6.1f} s  {fault.kind.name}  {faults[-1].remark}",
                            flush=True,
                        )
                    if unhealed := await _unhealed(ledger, fault.kind.name):
                        break
                else:
                    await asyncio.sleep(max(0.0, start + lasts_s - time.monotonic()))
                    unhealed += await _unhealed(ledger, "the campaign")
            ended = time.monotonic()
            return await _counted(place, ledger, faults, followers, servers, ended, unhealed)


async def _strike(place: CampaignPlatform, fault: PlannedFault) -> FaultRecord:
    began = time.monotonic()
    remark = await carry_out(place, fault)
    return FaultRecord(fault.kind.name, began, time.monotonic(), remark)


async def _unhealed(ledger: Ledger, after: str) -> list[str]:
    """Wait until each kind of operation succeeds again; return those that do not, in words."""
    since, deadline = time.monotonic(), time.monotonic() + _HEAL_S
    while late := [kind for kind in TIMED if ledger.last_acknowledged(kind) < since]:
        if time.monotonic() > deadline:
            return [f"did not heal after {after}: {kind}" for kind in late]
        await asyncio.sleep(_LOOK_S)
    return []


@contextlib.asynccontextmanager
async def _traffic(place: CampaignPlatform, ledger: Ledger) -> AsyncIterator[None]:
    """Have all clients work while a block runs."""
    platform = place.platform
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout()) as session:
        await make_bucket(platform, session)
        clients = [
            *(writers.write_rows(platform, session, ledger, number) for number in range(_WRITERS)),
            *(writers.read_rows(platform, session, ledger, number) for number in range(_READERS)),
            *(upload(platform, session, ledger, number) for number in range(_UPLOADERS)),
            *(writers.call_functions(platform, session, ledger, number) for number in range(_CALLERS)),
            writers.fill_queue(platform, session, ledger, 0),
            writers.ask_for_mail(platform, session, ledger, 0),
        ]
        tasks = [asyncio.ensure_future(client) for client in clients]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
            ledger.strange += [
                f"a client ended: {end!r}" for end in ends if not isinstance(end, asyncio.CancelledError)
            ]


async def _counted(
    place: CampaignPlatform,
    ledger: Ledger,
    faults: list[FaultRecord],
    followers: list[CountingFollower],
    servers: Receivers,
    ended: float,
    unhealed: list[str],
) -> Result:
    database = await asyncpg.connect(place.superuser_url)
    try:
        await asyncio.sleep(1)  # what was under way when the clients left is committed or rolled back
        rows = Counter(int(row["id"]) for row in await database.fetch("select id from public.marks"))
        objects, wrong = await stored_objects(place.platform, {each.id for each in ledger.of(OBJECTS)})
        received = await _received(followers, rows, ledger)
        await _mailed(ledger, servers)
        wipes = [fault.began for fault in faults if fault.name == WIPED]
        jobs = await count_jobs(database, ledger, servers, wipes)
        jobs += await events_out.count_events(database, ledger, servers)
    finally:
        await database.close()
    resuming, plain = received[:_RESUMING], received[_RESUMING:]
    result = outcomes(ledger, faults, ended, StoredData(rows, objects), resuming, plain)
    wrong += unhealed + ledger.strange[:20]
    return Result(result, jobs, faults, wrong, len(ledger.operations), rows.total(), len(objects))


async def _received(
    followers: list[CountingFollower], rows: Counter[int], ledger: Ledger
) -> list[FollowerCounts]:
    """Wait a while until those who resume have everything; compare what all received."""
    acknowledged, stored = ledger.ids(ROWS, Meaning.ACKNOWLEDGED), set(rows)
    deadline = time.monotonic() + _SETTLE_S
    while time.monotonic() < deadline:
        received = [compare(follower.received, stored, acknowledged) for follower in followers]
        if not any(each.missing for each in received[:_RESUMING]):
            break
        await asyncio.sleep(2)
    return received


async def _mailed(ledger: Ledger, servers: Receivers) -> None:
    """Wait a while until all mails came."""
    deadline = time.monotonic() + _SETTLE_S
    while ledger.ids(MAIL, Meaning.ACKNOWLEDGED) - servers.mailed().keys() and time.monotonic() < deadline:
        await asyncio.sleep(1)


def main() -> int:
    """Run a campaign as the command line says, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument(
        "--seed", type=int, default=None, help="repeats a campaign; otherwise a new one, which is printed"
    )
    parser.add_argument(
        "--logs", type=Path, default=None, help="folder to which the platform's logs are copied at the end"
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=[kind.name for kind in KINDS],
        help="a kind of fault; may be given again; without it all kinds",
    )
    asked = parser.parse_args()
    kinds = tuple(kind for kind in KINDS if not asked.only or kind.name in asked.only)
    seed = asked.seed if asked.seed is not None else random.randrange(1_000_000)
    print(f"seed {seed}: SEED={seed} MINUTES={asked.minutes:g} repeats this campaign", flush=True)
    plan = planned_faults(seed, asked.minutes, kinds)
    result = asyncio.run(run_campaign(plan, asked.minutes * 60, logs=asked.logs))
    print(f"\n{result}")
    return 0 if result.is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
