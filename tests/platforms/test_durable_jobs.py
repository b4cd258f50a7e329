"""Durable jobs of a whole platform: what the page says, word for word, and steps counted while everything is killed."""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.docs.pages import ROOT, block, shell
from tests.platform import Platform, platform
from tests.platforms.conftest import pid_of, token

PAGE = (ROOT / "docs" / "queues-and-jobs.md").read_text(encoding="utf-8").partition("## Durable jobs")[2]
BANK = """
async function call(name: string, body: unknown) {
  const key = Deno.env.get("SUPABASE_SERVICE_ROLE_KEY")!;
  const headers = { apikey: key, authorization: `Bearer ${key}`, "content-type": "application/json", prefer: "return=minimal" };
  const answer = await fetch(`${Deno.env.get("SUPABASE_URL")}/rest/v1/${name}`, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
}
"""
COUNTING = f"""
import {{ job }} from "headwater:jobs";
{BANK}
Deno.serve(job(async ({{ run, input, step, sleep }}) => {{
  const results = [];
  for (let n = 0; n < input.steps; n++) {{
    results.push(await step("effect", async ({{ id }}) => {{
      await call("effects", {{ id, run: run.id, n }});
      if (input.ends && n === 1 && run.attempt === 1) Deno.exit(3);
      return n;
    }}));
  }}
  const [left, right] = await Promise.all([step("left", () => 1), sleep("nap", "50ms").then(() => step("right", () => 2))]);
  return [...results, left, right];
}}));
"""
WAYS = """
import { job, NonRetriableError, StepError } from "headwater:jobs";
const tried: Record<string, number> = {};
const fail = (name: string, times: number) => {
  tried[name] = (tried[name] ?? 0) + 1;
  if (tried[name] <= times) throw new Error(`try ${tried[name]}`);
  return tried[name];
};
const ways: Record<string, (context: any) => unknown> = {
  "tried again": ({ step }) => step("s", ({ attempt }) => fail("again", 2) * 10 + attempt),
  "own retries": async ({ retry }) => {
    try {
      await retry("s", { retries: 1, backoff: 10 }, () => fail("own", 9));
    } catch (error) {
      return [error instanceof StepError, error.step, error.message];
    }
  },
  "nested": ({ step }) => step("outer", () => step("inner", () => 1)),
  "too long": ({ step }) => step("s", () => "x".repeat(2 ** 20)),
  "no JSON": ({ step }) => step("s", () => 10n),
  "two kinds": async ({ step, sleep, run }) => run.attempt === 1 ? (await step("s", () => 1), await sleep("n", 1), fail("kind", 9)) : await sleep("s", 1),
  "bad duration": ({ sleep }) => sleep("s", "soon"),
  "between steps": async ({ step }) => [await step("s", () => fail("counted", 0)), fail("between", 1)],
  "past": async ({ sleep }) => [await sleep("s", new Date(0)) ?? null, "woken"],
  "sends": async ({ sendEvent, start, waitForEvent, run }) => {
    const event = await sendEvent("send", { event: "way.sent", data: { run: run.id } });
    const own = await waitForEvent("own", { event: "way.sent", match: { run: run.id }, timeout: "1m" });
    const child = await start("child", { job: "ways", input: "past", key: `child of ${run.id}` });
    return [own.id === event, typeof child, await waitForEvent("none", { event: "way.sent", timeout: 1 })];
  },
  "invokes": async ({ invoke }) => {
    const children = await Promise.all(["past", "streams"].map((input) => invoke(input, { job: "ways", input })));
    try {
      return await invoke("broken", { job: "ways", input: "nested" });
    } catch (error) {
      return [children, error instanceof StepError, error.message.includes("inside of step outer")];
    }
  },
  "streams": async ({ step }) => await step("slow", () => new Promise((done) => setTimeout(() => done("slow"), 300))),
};
Deno.serve(job((context) => ways[context.input](context)));
"""
RESULTS = {
    "tried again": "[33]",
    "own retries": '[[true, "s", "Error: try 2"]]',
    "nested": "step inner is inside of step outer",
    "too long": "the result of step s is longer than 1 MiB",
    "no JSON": "BigInt",
    "two kinds": "s was a step in an earlier call and is a sleep now",
    "bad duration": '"soon" is no duration',
    "between steps": "[[1, 2]]",
    "past": '[[null, "woken"]]',
    "sends": '[[true, "string", null]]',
    "streams": '["slow"]',
    "invokes": '[[[[null, "woken"], "slow"], true, true]]',
}
"""What each way of the function `ways` ends with: its output in brackets, or a part of its error."""
CONFIG = """
[api]
schemas = ["public", "headwater_jobs"]

[functions.count.job]
enabled = true
retries = 1000
backoff = "100ms"
concurrency = 20

[functions.ways.job]
enabled = true
retries = 2
backoff = "10ms"
"""
SCHEMA = """
create table public.effects (id text, run uuid, n int);
grant insert on public.effects to service_role;
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("jobs") / "supabase"
    bank = "const charge = (amount: number, id: string) => ({ amount, id });\nconst refund = () => {}, sendEmail = () => {};\n"
    for name, text in (
        ("order", bank + block(PAGE, "ts", "interface Order")),
        ("count", COUNTING),
        ("ways", WAYS),
    ):
        (folder / "functions" / name).mkdir(parents=True)
        (folder / "functions" / name / "index.ts").write_text(text)
    (folder / "config.toml").write_text(CONFIG + block(PAGE, "toml", "functions.order.job"))
    with platform("--project", str(folder.parent)) as running:
        running.psql(SCHEMA)
        wait_for(lambda: asked(running, "select count(*) from headwater_jobs.jobs") == "3")
        yield running


def asked(server: Platform, query: str) -> str:
    return server.command("psql", "-Atc", query).stdout.strip()


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 90
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)  # between two questions: nothing announces what is waited for


def test_the_page_does_what_it_says(server: Platform):
    folder = server.data.parent
    server.psql(block(PAGE, "sql", "create table orders"))
    first = "select id from headwater_jobs.runs where input -> 'data' ->> 'order' = '7'"
    wait_for(
        lambda: asked(server, f"select status from headwater_jobs.runs where id = ({first})") == "sleeping"
    )
    run = f"RUN={asked(server, first)}"
    shown = shell(server, folder, run, block(PAGE, "sh", "jobs show"))
    assert "charge (step): done" in shown
    assert "wait for the parcel (wait): open until" in shown
    wait_for(lambda: asked(server, f"select status from headwater_jobs.runs where id = ({first})") == "done")
    output = json.loads(asked(server, f"select output from headwater_jobs.runs where id = ({first})"))
    assert output == {"payment": {"amount": 120, "id": f"{run[4:]}/charge"}, "parcel": "P-1"}

    free, later = re.findall(
        r"[0-9a-f]{8}-[0-9a-f-]{27}", server.psql(block(PAGE, "sql", "key => 'order-8'"))
    )
    wait_for(lambda: asked(server, f"select status from headwater_jobs.runs where id = '{free}'") == "failed")
    assert "costs something" in asked(server, f"select error from headwater_jobs.runs where id = '{free}'")
    assert "failed in the last day" in server.command("doctor").stdout
    assert (
        asked(
            server,
            f"select due_at > now() + interval '23 hours' from headwater_jobs.runs where id = '{later}'",
        )
        == "t"
    )
    same, _, again = shell(server, folder, run, block(PAGE, "sh", "jobs cancel")).split("\n")[:3]
    assert same == free
    steps = f"select string_agg(name, ',' order by position) from headwater_jobs.steps where run = '{again}'"
    wait_for(lambda: asked(server, steps).startswith("charge"))

    taken = server.psql(block(PAGE, "sql", "headwater_jobs.take"))
    sql = re.search(r"(\S{36}) \|\s+1 \| \{\}", taken)
    assert sql
    held = f"'{sql[1]}', 1"
    assert server.psql(
        f"select headwater_jobs.step({held}, 'read', '7'); select headwater_jobs.sleep({held}, 'nap', '0 seconds');"
        f"select headwater_jobs.suspend({held})"
    )
    late = server.command("psql", "-c", f"select headwater_jobs.step({held}, 'late', '8')")
    assert "does not have run" in late.stderr
    server.psql(
        "select headwater_jobs.finish(id, attempt, steps -> 'read' -> 'result') from headwater_jobs.take('report')"
    )
    assert asked(server, "select output from headwater_jobs.runs where job = 'report'") == "7"


def test_the_module_does_what_it_promises(server: Platform):
    for way in RESULTS:
        server.psql(f"select headwater_jobs.start('ways', to_jsonb('{way}'::text), '{way}')")
    wait_for(
        lambda: (
            asked(server, "select count(*) from headwater_jobs.runs where job = 'ways' and ended_at is null")
            == "0"
        )
    )

    for way, result in RESULTS.items():
        ended_with = asked(
            server,
            f"select coalesce(error, jsonb_build_array(output)::text) from headwater_jobs.runs where key = '{way}'",
        )
        assert ended_with == result if result.startswith("[") else result in ended_with


def test_no_step_is_lost_or_done_again_over_kills_of_every_part(server: Platform):
    start = "select headwater_jobs.start('count', jsonb_build_object('steps', 6, 'ends', n % 10 = 0), 'kill-' || n) from generate_series({}, {}) n"
    server.psql(start.format(1, 40))
    for name in ("pools", "functions", "postgres", "nats"):
        server.psql(start.format(1, 40))  # each key starts one run
        before = int(asked(server, "select count(*) from headwater_jobs.steps") or 0)
        wait_for(
            lambda before=before: (
                int(asked(server, "select count(*) from headwater_jobs.steps") or 0) > before + 10
                or ended(server) == 40
            )
        )
        os.kill(pid_of(server, name), signal.SIGKILL)
        wait_for(lambda: asked(server, "select 1") == "1")
    wait_for(lambda: ended(server) == 40)

    assert (
        asked(server, "select count(*) from headwater_jobs.runs where key like 'kill-%' and status = 'done'")
        == "40"
    )
    outputs = asked(server, "select distinct output from headwater_jobs.runs where key like 'kill-%'")
    assert outputs == "[0, 1, 2, 3, 4, 5, 1, 2]"
    effects = "select count(distinct id), count(distinct (run, n)) from public.effects"
    assert asked(server, effects) == "240|240"
    assert (
        asked(server, "select count(*) from public.effects where n = 1 having count(*) >= 44") != ""
    )  # four ended their process


def ended(server: Platform) -> int:
    return int(
        asked(
            server,
            "select count(*) from headwater_jobs.runs where key like 'kill-%' and ended_at is not null",
        )
        or 0
    )


def test_clients_see_their_own_runs_and_start_none(server: Platform):
    ada, bob = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"
    key = server.values["ANON_KEY"]

    def call(method: str, path: str, user: str = "", **body: object) -> httpx.Response:
        bearer = (
            server.values["SERVICE_ROLE_KEY"]
            if user == "service"
            else token(server, sub=user)
            if user
            else key
        )
        headers = {
            "apikey": key,
            "authorization": f"Bearer {bearer}",
            "content-profile": "headwater_jobs",
            "accept-profile": "headwater_jobs",
        }
        return httpx.request(method, f"{server.url}/rest/v1/{path}", json=body or None, headers=headers)

    begun = call("POST", "rpc/start", "service", job="count", input={"steps": 1}, owner=ada)
    assert begun.status_code == 200
    assert call("POST", "rpc/start", ada, job="count").status_code == 403
    assert call("POST", "rpc/send_event", ada, name="order.placed").status_code == 403
    assert call("POST", "rpc/start", job="count").status_code == 401
    assert call("GET", "runs").status_code == 401
    assert call("GET", "events", ada).status_code == 403
    assert [row["id"] for row in call("GET", "runs?select=id,status", ada).json()] == [begun.json()]
    for other in (bob, "auth0|ada"):  # another issuer's users may have names of any form
        assert call("GET", "runs", other).json() == call("GET", "steps", other).json() == []
    missing = call("POST", "rpc/start", "service", job="missing")
    assert (missing.status_code, "there is no job missing" in missing.text) == (400, True)
    long = call("POST", "rpc/start", "service", job="count", input={"x": "y" * 300_000})
    assert (long.status_code, "at most 262144" in long.text) == (400, True)
    direct = httpx.post(
        f"{server.url}/functions/v1/count",
        json={"run": {}, "steps": {}},
        headers={"apikey": key, "authorization": f"Bearer {key}"},
    )
    assert (direct.status_code, direct.json()["code"]) == (403, "NOT_A_CALL_OF_A_RUN")
