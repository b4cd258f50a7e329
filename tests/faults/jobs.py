"""What the platform does by itself while it is harmed: jobs by the clock, webhooks, mails. Servers that receive, and the counting."""

import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import asyncpg
from aiohttp import web

from tests.faults.ledger import Ledger, Meaning, Operation
from tests.faults.writers import MAIL, QUEUE, id_of
from tests.workers.auth.delivery.smtp_server import MailServer, mail_server

HOOK_EVERY = 20
"""Every so manieth row of a writer calls the webhook."""
_WAITS_S, _WIPE_S = 1.0, 0.5
"""How long a mail waits for the mail server, and how long the store is being wiped, at most."""


@dataclass(slots=True)
class Receivers:
    """A web server that webhooks call and a mail server, both of the campaign."""

    hooks_port: int
    mails: MailServer
    hooks: Counter[int] = field(default_factory=Counter)
    events: dict[int, list[str]] = field(default_factory=dict)
    """Ids of the events of a webhook, by the key of their row."""

    @property
    def events_url(self) -> str:
        """Address that takes the events of a webhook."""
        return f"http://127.0.0.1:{self.hooks_port}/events"

    @property
    def environment(self) -> dict[str, str]:
        """Settings under which a platform sends to them."""
        return {
            "HEADWATER_NET_ALLOW": f"127.0.0.1:{self.hooks_port}",
            "HEADWATER_AUTH_EMAIL_SMTP_HOST": "127.0.0.1",
            "HEADWATER_AUTH_EMAIL_SMTP_PORT": str(self.mails.port),
            "HEADWATER_AUTH_EMAIL_SMTP_ADMIN_EMAIL": "campaign@example.com",
        }

    @property
    def trigger(self) -> str:
        """SQL that calls the webhook for some of the rows."""
        return (
            f"create trigger hook after insert on public.marks for each row when (new.id % {HOOK_EVERY} = 0)"
            f" execute function supabase_functions.http_request('http://127.0.0.1:{self.hooks_port}/hook',"
            " 'POST', '{}', '{}', '5000')"
        )

    def mailed(self) -> Counter[int]:
        """Count the mails that came, by the id of their receiver."""
        return Counter(id_of(receiver) for mail in self.mails.envelopes for receiver in mail.rcpt_tos)


@contextlib.asynccontextmanager
async def receivers() -> AsyncIterator[Receivers]:
    """Run both servers."""
    hooks, events = Counter[int](), dict[int, list[str]]()

    async def take_event(request: web.Request) -> web.Response:
        row = json.loads(await request.read())["data"]["record"]
        events.setdefault(int(row["n"]), []).append(request.headers["webhook-id"])
        return web.Response()

    async def take(request: web.Request) -> web.Response:
        hooks[int(json.loads(await request.read())["record"]["id"])] += 1
        return web.Response()

    application = web.Application()
    application.router.add_post("/hook", take)
    application.router.add_post("/events", take_event)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = int(runner.addresses[0][1])
        async with mail_server() as mails:
            yield Receivers(port, mails, hooks, events)
    finally:
        await runner.cleanup()


@dataclass(frozen=True, slots=True)
class JobCounts:
    """What became of one kind of job: a promise is broken where `doubled`, `lost` or `refused` is not empty."""

    name: str
    done: int
    lost: set[int]
    doubled: set[int]
    refused: set[int] = field(default_factory=set)
    """Done although the answer said that nothing was done."""
    remark: str = ""

    @property
    def broken(self) -> int:
        """Count broken promises."""
        return len(self.lost) + len(self.doubled) + len(self.refused)


class JobRun(NamedTuple):
    """A row of `cron.job_run_details`."""

    id: int
    start: datetime | None
    has_succeeded: bool


class Tick(NamedTuple):
    """A row that a run wrote, with the run that its own session saw (`schema.sql`)."""

    id: int
    run: int | None


async def count_jobs(
    database: asyncpg.Connection, ledger: Ledger, receivers: Receivers, wipes: Sequence[float] = ()
) -> list[JobCounts]:
    """Compare what was asked for with what was done. `wipes` are the times at which the broker's store was lost."""
    return [
        await _queue(database, ledger),
        await _ticks(database),
        await _hooks(database, receivers),
        _mails(ledger, receivers, wipes),
    ]


async def _queue(database: asyncpg.Connection, ledger: Ledger) -> JobCounts:
    rows = await database.fetch(
        "select (message->>'id')::bigint from (select message from pgmq.q_marks union all select message from pgmq.a_marks) m"
    )
    found = Counter(int(row[0]) for row in rows)
    lost = ledger.ids(QUEUE, Meaning.ACKNOWLEDGED) - found.keys()
    refused = ledger.ids(QUEUE, Meaning.REFUSED) & found.keys()
    return JobCounts("messages of a queue", len(found), lost, _twice(found), refused)


async def _ticks(database: asyncpg.Connection) -> JobCounts:
    runs, ticks = await read_runs(database)
    lost, doubled = compare_runs(runs, ticks)
    started = [run.start for run in runs if run.start is not None]
    seconds = (max(started) - min(started)).total_seconds() if started else 0
    remark = f"{len(runs)} runs begun in {seconds:.0f} s"
    if lost or doubled:
        remark += f"; lost {[run for run in runs if run.id in lost]}, doubled {[tick for tick in ticks if tick.id in doubled]}"
    return JobCounts("runs of a job each second", len(ticks), lost, doubled, remark=remark)


async def read_runs(database: asyncpg.Connection) -> tuple[list[JobRun], list[Tick]]:
    """Return runs and the rows that they wrote, of one moment.

    The job goes on meanwhile. Read in two snapshots, a run that began between them has a row and is not there yet: its row looks
    like one of no run (tests/workers/scheduler/test_counted_runs.py).
    """
    async with database.transaction(isolation="repeatable_read", readonly=True):
        runs = await database.fetch(
            "select runid, start_time, coalesce(status = 'succeeded', false) from cron.job_run_details"
        )
        ticks = await database.fetch("select id, run from public.ticks order by id")
    return [JobRun(*row) for row in runs], [Tick(*row) for row in ticks]


def compare_runs(runs: Sequence[JobRun], ticks: Sequence[Tick]) -> tuple[set[int], set[int]]:
    """Return the runs that succeeded and wrote no row, and the rows that are the second of a run or of no run (pure).

    A run that was cut off has written one row or none. Net counts would not do: one lost and one doubled cancel out.
    """
    known, written, doubled = {run.id for run in runs}, set[int](), set[int]()
    for tick in ticks:
        if tick.run is None or tick.run in written or tick.run not in known:
            doubled.add(tick.id)
        else:
            written.add(tick.run)
    return {run.id for run in runs if run.has_succeeded} - written, doubled


async def _hooks(database: asyncpg.Connection, receivers: Receivers) -> JobCounts:
    """At most once: a call that is under way when its process dies is not repeated."""
    stored = await database.fetchval(f"select count(*) from public.marks where id % {HOOK_EVERY} = 0")
    silent = stored - len(receivers.hooks)
    return JobCounts(
        "webhooks",
        len(receivers.hooks),
        set(),
        _twice(receivers.hooks),
        remark=f"{silent} cut off, of {stored}",
    )


def _mails(ledger: Ledger, receivers: Receivers, wipes: Sequence[float]) -> JobCounts:
    """At least once: a mail whose delivery nobody could confirm is sent again."""
    mailed = receivers.mailed()
    lost, wiped = lost_mails(ledger.of(MAIL), mailed.keys(), wipes)
    remark = f"{len(_twice(mailed))} came twice, {len(wiped)} lost with the wiped store"
    if lost or wiped:
        began = ledger.operations[0].began
        shown = [
            f"{each.began - began:.2f} to {each.ended - began:.2f} s"
            for each in ledger.of(MAIL)
            if each.id in lost | wiped
        ]
        remark += f"; lost ones asked for at {shown}; wiped at {[round(wipe - began, 2) for wipe in wipes]}"
    return JobCounts("mails", len(mailed), lost, set(), remark=remark)


def lost_mails(
    asked: Iterable[Operation], came: Set[int], wipes: Sequence[float]
) -> tuple[set[int], set[int]]:
    """Return the mails that were acknowledged and never came, and apart from them those that waited when the store was wiped (pure).

    docs/operations.md says that those are gone, and `StreamRecreated` reports it. A mail waits for a fraction of a second, so
    only one that was acknowledged just before may have gone with the store.
    """
    lost, wiped = set[int](), set[int]()
    for mail in asked:
        if mail.meaning is Meaning.ACKNOWLEDGED and mail.id not in came:
            is_wiped = any(mail.began - _WIPE_S <= wipe <= mail.ended + _WAITS_S for wipe in wipes)
            (wiped if is_wiped else lost).add(mail.id)
    return lost, wiped


def _twice(found: Counter[int]) -> set[int]:
    return {id for id, times in found.items() if times > 1}
