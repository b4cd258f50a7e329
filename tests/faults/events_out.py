"""What follows the writes of a campaign's platform: a webhook of rows, messages of a queue, runs of a durable job, history. Setting up and counting."""

import asyncio
import json
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

import asyncpg

from tests.faults.jobs import JobCounts, Receivers
from tests.faults.ledger import Ledger, Meaning
from tests.faults.writers import QUEUE
from tests.platform import Platform
from tests.workers.management.operations.conftest import administrator
from tests.workers.streams.running_streams import in_duckdb

_SETTLE_S = 90.0
_APPENDED = "where _order > (select max(_order) from lake where _op = 'truncate')"
_CONSUMER = {"queue": "work", "archive": True, "visibility": "5s", "retries": 1000, "backoff": "200ms"}
_JOB = {"enabled": True, "retries": 1000, "backoff": "200ms", "concurrency": 20}
LAKE = Path(tempfile.gettempdir(), f"headwater-campaign-lake-{os.getpid()}")
_STREAM = {"tables": ["marks"], "target": f"file://{LAKE}", "every": "500ms"}
ENVIRONMENT = {
    "HEADWATER_FUNCTIONS": json.dumps({"work": {"queue": _CONSUMER}, "steps": {"job": _JOB}}),
    "HEADWATER_STREAMS": json.dumps(
        {"merged": _STREAM, "logged": {**_STREAM, "mode": "append", "target": f"file://{LAKE}/log"}}
    ),
}
"""Settings under which the function `work` consumes the queue `work`, and the function `steps` is a durable job, and the table `marks` is copied."""
STEPS_FUNCTION = """
import { job } from "headwater:jobs";
const key = Deno.env.get("SUPABASE_SERVICE_ROLE_KEY")!;
const headers = { apikey: key, authorization: `Bearer ${key}`, "content-type": "application/json", prefer: "return=minimal" };
Deno.serve(job(async ({ input, step, sleep }) => {
  for (let n = 0; n < 3; n++) {
    await step(`effect ${n}`, async ({ id }) => {
      const body = JSON.stringify({ mark: input.mark, n, id });
      const answer = await fetch(`${Deno.env.get("SUPABASE_URL")}/rest/v1/step_effects`, { method: "POST", headers, body });
      if (!answer.ok) throw new Error(await answer.text());
      return n;
    });
    if (n === 1) await sleep("pause", "1s");
  }
}));
"""
_SETUP = """
select pgmq.create('work');
create table public.step_effects (mark int8, n int, id text);
grant insert on public.step_effects to service_role;
create function public.pass_on() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pgmq.send('work', new.message);
  perform headwater_jobs.start('steps', jsonb_build_object('mark', new.message -> 'id'), new.message ->> 'id');
  return null;
end $$;
create trigger pass_on after insert on pgmq.q_marks for each row execute function public.pass_on();
"""


def prepare(platform: Platform, receivers: Receivers) -> None:
    """Add the webhook, and pass each message of the clients' queue on: to the queue that a function consumes, and to a run of a job."""
    deadline = time.monotonic() + _SETTLE_S
    while "steps" not in platform.psql("select name from headwater_jobs.jobs"):
        assert time.monotonic() < deadline, "the scheduler does not know the job"
        time.sleep(0.1)  # between two questions: nothing announces it
    platform.psql(_SETUP)
    owner = administrator(platform, "campaign", "--rights", "owner", "--write")
    wish = {"name": "marks", "url": receivers.events_url, "table": "marks", "events": ["insert"]}
    status, body = owner.send("event_webhooks.add", wish)
    assert status == 200, body
    status, body = owner.send("history.change", {"table": "marks", "days": 30})
    assert (status, body) == (200, {"is_on": True, "is_waiting": False}), body


async def count_events(database: asyncpg.Connection, ledger: Ledger, receivers: Receivers) -> list[JobCounts]:
    """Wait a while until everything is there, then compare."""
    deadline = time.monotonic() + _SETTLE_S
    while True:
        counts = [
            await _webhook(database, receivers),
            await _messages(database, ledger),
            await _steps(database, ledger),
            await _versions(database),
            await _copied(database, "rows that a stream merged", LAKE, ""),
            await _copied(database, "changes that a stream appended", LAKE / "log", _APPENDED),
        ]
        if not any(each.lost for each in counts) or time.monotonic() > deadline:
            return counts
        await asyncio.sleep(1)  # between two questions: the campaign runs for minutes


async def _webhook(database: asyncpg.Connection, receivers: Receivers) -> JobCounts:
    """At least once, always with the same id. What the platform says may be missing is no broken promise."""
    rows = {int(row[0]) for row in await database.fetch("select n from public.marks")}
    gap = await database.fetchval("select gap_reason from headwater.webhooks where name = 'marks'")
    lost = rows - receivers.events.keys()
    doubled = {n for n, ids in receivers.events.items() if len(set(ids)) > 1}
    again = sum(len(ids) - 1 for ids in receivers.events.values())
    remark = f"{again} came again with their id"
    if gap:
        remark, lost = f"{remark}, {len(lost)} missing in an announced gap: {gap}", set()
    return JobCounts("events of a webhook", len(receivers.events), lost, doubled, remark=remark)


async def _messages(database: asyncpg.Connection, ledger: Ledger) -> JobCounts:
    """A message that was acknowledged has been done once its consumer's success is stored; none is set aside."""
    done = await database.fetch(
        "select (message ->> 'id')::bigint from pgmq.a_work where headers is null or not headers ? 'dead_letter'"
    )
    found = [int(row[0]) for row in done]
    lost = ledger.ids(QUEUE, Meaning.ACKNOWLEDGED) - set(found)
    doubled = {id for id in set(found) if found.count(id) > 1} if len(found) > len(set(found)) else set()
    tries = await database.fetchval("select coalesce(sum(read_ct - 1), 0)::int8 from pgmq.a_work")
    return JobCounts(
        "messages that a function consumed", len(found), lost, doubled, remark=f"{tries} further attempts"
    )


async def _steps(database: asyncpg.Connection, ledger: Ledger) -> JobCounts:
    """A message that was acknowledged has started one run, which has stored three steps; an effect that is repeated has the same id."""
    whole = await database.fetch(
        "select (input ->> 'mark')::int8 from headwater_jobs.runs where status = 'done'"
        " and 3 = (select count(*) from headwater_jobs.steps where run = runs.id and kind = 'step' and status = 'done')"
    )
    found = [int(row[0]) for row in whole]
    effects = await database.fetch(
        "select mark, n, count(distinct id), count(*) from public.step_effects group by mark, n"
    )
    lost = ledger.ids(QUEUE, Meaning.ACKNOWLEDGED) - set(found)
    lost |= set(found) - {int(row[0]) for row in effects if row[1] == 2}  # stored, and not done
    doubled = {int(row[0]) for row in effects if row[2] > 1}
    doubled |= {mark for mark, times in Counter(found).items() if times > 1}
    again = sum(row[3] - 1 for row in effects)
    return JobCounts(
        "steps of a durable job", len(found) * 3, lost, doubled, remark=f"{again} came again with their id"
    )


async def _versions(database: asyncpg.Connection) -> JobCounts:
    """Exactly once: each row has one version. What is shown as a gap is no broken promise."""
    rows = {int(row[0]) for row in await database.fetch("select n from public.marks")}
    versions = await database.fetch(
        "select (after ->> 'n')::bigint, source from headwater_history.versions where operation = 'insert'"
    )
    found = Counter(int(row[0]) for row in versions)
    gaps = [str(row[0]) for row in await database.fetch("select reason from headwater_history.gaps")]
    lost, doubled = rows - found.keys(), {n for n, count in found.items() if count > 1}
    unsigned = sum(row[1] != "request" for row in versions)
    remark = f"{unsigned} without the name of their request"
    if gaps:
        remark, lost = f"{remark}, {len(lost)} missing in announced gaps: {', '.join(gaps)}", set()
    return JobCounts("versions of rows", len(found), lost, doubled, remark=remark)


async def _copied(database: asyncpg.Connection, name: str, folder: Path, behind: str) -> JobCounts:
    """Exactly once: each row is there once, behind the last snapshot."""
    rows = {int(row[0]) for row in await database.fetch("select n from public.marks")}
    read = await asyncio.to_thread(in_duckdb, f"{folder}/public/marks", f"select n from lake {behind}")
    found = Counter(int(row[0]) for row in read)
    stream = "merged" if folder == LAKE else "logged"
    snapshots = await database.fetchval(
        "select snapshots from headwater.stream_tables where stream = $1", stream
    )
    return JobCounts(
        name,
        len(found),
        rows - found.keys(),
        {n for n, count in found.items() if count > 1},
        remark=f"copied whole {snapshots} times",
    )
