"""A million operations of one kind: `python -m tests.faults.million --kind rows --count 1000000`.

As fast as the machine goes, by a few clients that remove what they made. Memory of each process, descriptors, disk, rows and sizes of
the platform's tables are read before, every ten seconds and afterwards, when what ages has had its time. Exit code 1: a figure
of memory, descriptors or disk went on growing with the operations (bounds of the soak), or operations failed. Several kinds run one after another on one platform.
"""

import argparse
import asyncio
import itertools
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import asyncpg

from tests.faults.campaign_platform import CampaignPlatform, running_platform
from tests.faults.jobs import receivers
from tests.faults.million_kinds import BUCKET, KINDS, SCHEMA, Client, person
from tests.faults.soak import SCHEMA as SOAK_SCHEMA
from tests.faults.soak import SHORT_AGES, Sampler
from tests.faults.soak_bounds import MIB, judged, verdict_table

_CLIENTS = 12
_SHORT = {**SHORT_AGES, "HEADWATER_STORAGE_EVENTS_MAX_SIZE": "16MiB"}
"""Ages of the soak, and a stream of events that is full after 10,000 uploads and removals."""
_FAILED_SHARE = 0.001
_LOOK_S = 5.0
_SETTLED = 1.02
"""Rest that does not shrink further by this factor from one look to the next is settled."""
_OF_TABLES = ("rows ", "dead ", "size ")
"""Figures whose bounds are made for the pace of a soak: here what is left afterwards counts, in the line of the kind."""
_PREFIXES = {
    "rows": ("rows ",),
    "memory": ("memory ",),
    "disk": ("disk nats", "disk logs", "disk log-store", "disk storage", "size "),
}


@dataclass(frozen=True, slots=True)
class Rest:
    """What one kind left behind: sums of the figures of each group, before, half way, at the end and afterwards."""

    kind: str
    count: int
    seconds: float
    failed: Counter[str]
    before: Mapping[str, float]
    half: Mapping[str, float]
    end: Mapping[str, float]
    after: Mapping[str, float]
    verdicts: str
    is_kept: bool

    def line(self) -> str:
        """Return the line of the table."""
        cells = [self.kind, f"{self.count:,}", f"{self.count / self.seconds:.0f}", str(self.failed.total())]
        looks = (self.before, self.half, self.end, self.after)
        cells.append(" -> ".join(f"{_sum(each, 'rows'):.0f}" for each in looks))
        cells += [
            " -> ".join(f"{_sum(each, group) / MIB:.1f}" for each in looks) for group in ("memory", "disk")
        ]
        per = (_sum(self.end, "memory") - _sum(self.half, "memory")) / max(1, self.count / 2)
        return f"| {' | '.join([*cells, f'{per:.1f}'])} |"


HEAD = (
    "| kind | operations | a second | failed | rows of platform tables: before, half, end, after | memory, MiB"
    " | disk without the log of Postgres, MiB | memory, bytes an operation in the second half |\n|---|---|---|---|---|---|---|---|"
)


def _sum(figures: Mapping[str, float], group: str) -> float:
    return sum(value for name, value in figures.items() if name.startswith(_PREFIXES[group]))


async def million(kinds: list[str], count: int, settle_s: float) -> int:
    """Run kinds one after another and print what each left; return the exit code."""
    rests = []
    async with receivers() as servers, running_platform(servers, None, _SHORT) as place:
        databases = [await asyncpg.connect(place.superuser_url) for _ in range(2)]
        platform = place.platform
        await asyncio.to_thread(platform.psql, SOAK_SCHEMA + SCHEMA)
        await asyncio.to_thread(platform.wait_for_catalog, "millions")
        maker = Client(platform, 0)
        await maker.ask("POST", "/storage/v1/bucket", {"name": BUCKET})
        for number in range(_CLIENTS):
            await maker.ask("POST", "/auth/v1/signup", person(number))
        assert not maker.refused, maker.refused
        often, sampler = (Sampler(place, database) for database in databases)
        for kind in kinds:
            rests.append(await _repeat(place, often, sampler, kind, count, settle_s))
            servers.mails.envelopes.clear()
            print(f"\n{rests[-1].verdicts}\n{HEAD}\n{rests[-1].line()}", flush=True)
        for database in databases:
            await database.close()
    print(f"\n{HEAD}")
    for rest in rests:
        print(rest.line() + ("" if rest.is_kept else f" NOT KEPT {dict(rest.failed)}"))
    return 0 if all(rest.is_kept for rest in rests) else 1


async def _repeat(
    place: CampaignPlatform, often: Sampler, sampler: Sampler, kind: str, count: int, settle_s: float
) -> Rest:
    """Warm up, then do one kind of operation so often. `often` reads the figures every ten seconds."""
    ids = itertools.count(1)
    clients = [Client(place.platform, number) for number in range(_CLIENTS)]
    await _until_done(clients, kind, ids, count // 10)
    before = await _settled(sampler, settle_s)
    for client in clients:
        client.refused.clear()
    often.samples.clear()
    sampling = asyncio.ensure_future(often.run(float("inf")))
    began = time.monotonic()
    await _until_done(clients, kind, ids, count // 2)
    half = await sampler.sample()
    await _until_done(clients, kind, ids, count - count // 2)
    seconds = time.monotonic() - began
    sampling.cancel()
    await asyncio.gather(sampling, return_exceptions=True)
    end = await sampler.sample()
    verdicts = [each for each in judged([*often.samples, end]) if not each.name.startswith(_OF_TABLES)]
    after = await _settled(sampler, settle_s)
    failed = sum((Counter(client.refused) for client in clients), Counter[str]())
    for client in clients:
        client.connection.close()
    is_kept = all(each.is_kept for each in verdicts) and failed.total() <= count * _FAILED_SHARE
    return Rest(kind, count, seconds, failed, before, half, end, after, verdict_table(verdicts), is_kept)


async def _until_done(clients: list[Client], kind: str, ids: "itertools.count[int]", count: int) -> None:
    left = iter(range(count))

    async def work(client: Client) -> None:
        for _ in left:
            await KINDS[kind](client, next(ids))

    await asyncio.gather(*map(work, clients))


async def _settled(sampler: Sampler, most_s: float) -> dict[str, float]:
    """Wait until the rows and the disk of the platform shrink no further, or for so long; return all figures."""
    deadline, figures = time.monotonic() + most_s, await sampler.sample()
    while time.monotonic() < deadline:
        await asyncio.sleep(_LOOK_S)
        last, figures = figures, await sampler.sample()
        if time.monotonic() > deadline - most_s / 2 and all(
            _sum(last, group) <= _sum(figures, group) * _SETTLED for group in ("rows", "disk")
        ):
            break
    return figures


def main() -> int:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--kind", action="append", choices=sorted(KINDS), help="may be given again; all without it"
    )
    parser.add_argument("--count", type=int, default=1_000_000, help="operations of each kind")
    parser.add_argument(
        "--settle",
        type=float,
        default=60,
        help="seconds in which what is swept may go, before and afterwards",
    )
    asked = parser.parse_args()
    return asyncio.run(million(asked.kind or list(KINDS), asked.count, asked.settle))


if __name__ == "__main__":
    sys.exit(main())
