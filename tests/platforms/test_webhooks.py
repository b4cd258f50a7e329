"""Webhooks of a whole platform: what happens in it arrives at a receiver, signed, and again until it is taken."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from standardwebhooks import Webhook

from broker.logs import search
from broker.logs.store import FOLDER
from tests.platform import Platform, platform
from tests.platforms.conftest import pid_of
from tests.platforms.realtime_followers import Follower, following
from tests.platforms.webhook_receiver import Receiver, receiver
from tests.workers.management.operations.conftest import RemoteAdministrator, administrator

SCHEMA = """
create table public.orders (id int primary key, status text not null default 'new', note text, amount numeric(10,2));
create table public.keyless (id int);
create table public.gone (id int primary key);
create table public.parts (id int primary key) partition by range (id);
create table public.parts_1 partition of public.parts for values from (0) to (10);
alter table public.orders replica identity full;
grant select, insert, update, delete on public.orders to service_role;
"""


@pytest.fixture(scope="module")
def target() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture(scope="module")
def server(target: Receiver) -> Iterator[Platform]:
    settings = {"HEADWATER_NET_ALLOW": f"127.0.0.1:{target.port}"}
    with platform(environment=settings) as running:
        running.psql(SCHEMA)
        yield running


@pytest.fixture(scope="module")
def owner(server: Platform) -> RemoteAdministrator:
    return administrator(server, "webhooks", "--rights", "owner", "--write")


def add(owner: RemoteAdministrator, target: Receiver, name: str, **more: object) -> str:
    """Add a webhook whose path is its name; return its secret."""
    status, body = owner.send("event_webhooks.add", {"name": name, "url": target.url(f"/{name}"), **more})
    assert status == 200, body
    return str(body["secret"])


def test_changes_of_rows_arrive_signed_as_they_were_asked_for(
    server: Platform, owner: RemoteAdministrator, target: Receiver
):
    server.psql("insert into public.orders values (1, 'paid')")  # before the webhook: not sent
    secret = add(
        owner, target, "paid", table="orders", filters=["status=in.(paid,sent)", "id=lt.100"],
        columns=["id", "status", "amount"], with_old=True, is_ordered=True, headers={"X-Shop": "one"},
    )  # fmt: skip
    server.psql(
        "insert into public.orders values (2, 'new', '', 1), (3, 'paid', 'ü', 1.50), (200, 'paid', '', 1);"
        "update public.orders set status = 'sent' where id = 3; delete from public.orders where id = 3"
    )

    inserted, updated, deleted = target.wait_for("/paid", 3)
    row = {"id": 3, "status": "paid", "amount": 1.50}
    assert inserted.json["type"] == "row.inserted"
    assert inserted.json["data"] == {"schema": "public", "table": "orders", "record": row, "old_record": None}
    assert updated.json["data"]["old_record"] == row
    assert updated.json["data"]["record"] == {**row, "status": "sent"}
    assert (deleted.json["type"], deleted.json["data"]["record"]) == ("row.deleted", None)
    assert deleted.json["data"]["old_record"] == {**row, "status": "sent"}
    for event in (inserted, updated, deleted):
        Webhook(secret).verify(event.body, event.headers)
        assert (event.json["id"], event.headers["x-shop"]) == (event.id, "one")


def test_rows_of_partitions_are_those_of_their_table(
    server: Platform, owner: RemoteAdministrator, target: Receiver
):
    add(owner, target, "parts", table="parts")
    server.psql(
        "create table public.parts_2 partition of public.parts for values from (10) to (20);"
        "insert into public.parts values (1), (11)"
    )

    events = target.wait_for("/parts", 2)

    assert {event.json["data"]["table"] for event in events} == {"parts"}
    assert {event.json["data"]["record"]["id"] for event in events} == {1, 11}


async def test_a_webhook_and_a_socket_lead_to_the_request_that_wrote(
    server: Platform, owner: RemoteAdministrator, target: Receiver
):
    server.psql(
        "create table public.traced (id int primary key, note text); grant all on public.traced to anon, service_role;"
        "alter publication supabase_realtime add table public.traced"
    )
    server.wait_for_catalog("traced")
    add(owner, target, "traced", table="traced")
    key = server.values["SERVICE_ROLE_KEY"]
    headers = {"apikey": key, "authorization": f"Bearer {key}", "x-request-id": "traced-1"}
    follower = Follower(server, {"event": "*", "schema": "public", "table": "traced"})

    async with following(follower), httpx.AsyncClient(base_url=server.url, headers=headers) as client:
        for count in range(1, 1000):  # workers sign once their next catalog has the trigger
            await client.post("/rest/v1/traced", json={"id": count})
            events = await asyncio.to_thread(target.wait_for, "/traced", count)
            if "request" in events[-1].json["data"]:
                break
        lines = await asyncio.to_thread(lines_of, server, "traced-1", 2)
    server.psql("update public.traced set note = 'by SQL' where id = 1")
    [by_sql] = (await asyncio.to_thread(target.wait_for, "/traced", count + 1))[count:]
    owner.send("event_webhooks.remove", {"name": "traced"})

    request = {"id": "traced-1", "role": "service_role", "sub": None}
    assert events[-1].json["data"]["request"] == request
    assert lines["RequestReachedWebhook"]["webhook"] == "traced"
    assert lines["RequestReachedSockets"] == {"table": "public.traced", "deliveries": 1}
    assert "request" not in by_sql.json["data"]
    deadline = time.monotonic() + 30
    while "headwater_cause" in server.psql(
        "select tgname from pg_trigger where tgrelid = 'public.traced'::regclass"
    ):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)  # the leader reads its list again


def lines_of(server: Platform, request_id: str, count: int) -> dict[str, dict[str, object]]:
    """Return the fields of a request's lines about what its changes reached, by kind, once the store has so many kinds."""
    deadline = time.monotonic() + 30
    while True:
        records = [line.record for line in search.lines_of_request(server.data / FOLDER, request_id).lines]
        reached = {line.kind: line.fields for line in records if line.kind.startswith("RequestReached")}
        if len(reached) == count:
            return reached
        assert time.monotonic() < deadline, [line.kind for line in records]
        time.sleep(0.1)  # lines are stored by another process


def test_what_is_not_taken_is_sent_again_in_the_order_of_its_row_and_holds_back_nobody(
    server: Platform, owner: RemoteAdministrator, target: Receiver
):
    add(owner, target, "slow", table="orders", events=["update"], is_ordered=True)
    add(owner, target, "quick", table="orders", events=["update"])
    server.psql("insert into public.orders values (10), (11)")
    target.statuses["/slow"] = [302]  # a redirect is not followed
    target.held.add("/slow")

    server.psql("update public.orders set note = 'a' where id = 10")
    target.wait_for("/slow", 1)
    server.psql("update public.orders set note = 'b' where id = 10")
    target.wait_for("/quick", 2)  # while the other one hangs
    target.let_go.set()

    events = target.wait_for("/slow", 3)
    assert [event.json["data"]["record"]["note"] for event in events] == ["a", "a", "b"]
    assert events[0].id == events[1].id != events[2].id
    assert target.at("/redirected") == []


def test_what_was_taken_is_not_sent_again_while_the_database_cannot_store_it(
    server: Platform, owner: RemoteAdministrator, target: Receiver
):
    add(owner, target, "full", table="orders", filters=["id=gt.500"])
    password = json.loads((server.data / "passwords.json").read_text())["database"]
    place = urlsplit(server.values["DB_URL"]).netloc.rpartition("@")[2]
    with psycopg.connect(
        f"postgresql://supabase_admin:{password}@{place}/postgres", autocommit=True
    ) as admin:
        admin.execute(
            """
            create sequence public.attempts;
            grant usage on sequence public.attempts to public;
            create function public.full_disk() returns trigger language plpgsql as $$
            begin
              perform pg_catalog.nextval('public.attempts');
              raise exception 'No space left on device' using errcode = 'disk_full';
            end $$;
            create trigger full_disk before update on headwater.webhook_deliveries
              for each row execute function public.full_disk();
            insert into public.orders (id) values (501);
            """
        )
        deadline = time.monotonic() + 60
        while admin.execute("select last_value from public.attempts").fetchall()[0][0] < 4:
            assert time.monotonic() < deadline
            time.sleep(0.1)  # nothing announces an attempt
        admin.execute("drop function public.full_disk cascade; drop sequence public.attempts")
    server.psql("insert into public.orders (id) values (502)")
    target.wait_for("/full", 2)

    assert [event.json["data"]["record"]["id"] for event in target.at("/full")] == [501, 502]


def test_a_receiver_that_is_gone_pauses_its_webhook_and_nothing_is_lost(
    server: Platform, owner: RemoteAdministrator, target: Receiver
):
    add(owner, target, "gone", table="orders", events=["insert"])
    target.statuses["/gone"] = [410]
    server.psql("insert into public.orders values (20)")
    target.wait_for("/gone", 1)
    problem = _until(owner, "gone", lambda row: row["is_paused"])["problem"]
    assert "410" in problem
    server.psql("insert into public.orders values (21)")

    owner.send("event_webhooks.change", {"name": "gone", "is_paused": False})

    events = target.wait_for("/gone", 3)
    assert sorted(event.json["data"]["record"]["id"] for event in events) == [20, 20, 21]
    assert _until(owner, "gone", lambda row: not row["waiting"])["problem"] == ""


def test_a_kill_of_the_pools_loses_nothing_and_a_replay_sends_again(
    server: Platform, owner: RemoteAdministrator, target: Receiver
):
    add(owner, target, "kept", table="orders", events=["insert"])
    target.held.add("/kept")
    target.let_go.clear()
    server.psql("insert into public.orders select 1000 + n from generate_series(1, 40) n")
    target.wait_for("/kept", 1)
    os.kill(pid_of(server, "pools"), signal.SIGKILL)
    server.psql("insert into public.orders select 2000 + n from generate_series(1, 40) n")
    target.held.discard("/kept")
    target.let_go.set()

    wanted = {*range(1001, 1041), *range(2001, 2041)}
    _until(owner, "kept", lambda row: not row["waiting"] and _ids(target, "/kept") == wanted)
    assert _ids(target, "/kept") == wanted
    before = len(target.at("/kept"))
    status, body = owner.send("event_webhooks.resend", {"webhook": "kept", "since": 0})
    assert (status, body) == (200, {"count": 80})
    again = target.wait_for("/kept", before + 80)
    assert {event.id for event in again[before:]} == {event.id for event in again[:before]}


def test_events_of_storage_and_of_accounts_arrive_without_what_signs_in(
    server: Platform, owner: RemoteAdministrator, target: Receiver
):
    add(
        owner, target, "files", source="storage", events=["object_created", "object_removed"], bucket="papers"
    )
    add(owner, target, "people", source="auth", is_ordered=True)
    server.psql("insert into storage.buckets (id, name) values ('papers', 'papers'), ('other', 'other')")
    key = server.values["SERVICE_ROLE_KEY"]
    with httpx.Client(
        base_url=server.url, headers={"apikey": key, "authorization": f"Bearer {key}"}
    ) as client:
        for bucket in ("other", "papers"):
            headers = {"content-type": "text/plain"}
            client.post(
                f"/storage/v1/object/{bucket}/a.txt", content=b"text", headers=headers
            ).raise_for_status()
        user = {"email": "ada@example.com", "password": "correct horse battery"}
        client.post("/auth/v1/signup", json=user).raise_for_status()
        client.post("/auth/v1/token?grant_type=password", json=user).raise_for_status()
    server.psql("delete from auth.users where email = 'ada@example.com'")

    [file] = target.wait_for("/files", 1)
    assert file.json["type"] == "storage.ObjectCreated:Post"
    assert (file.json["data"]["bucket"], file.json["data"]["name"]) == ("papers", "a.txt")
    people = target.wait_for("/people", 2)
    assert people[0].json["type"] == "auth.user_created"
    assert people[-1].json["type"] == "auth.user_deleted"
    assert people[0].json["data"]["user"]["email"] == "ada@example.com"
    assert not any("password" in event.body or "token" in event.body for event in people)


@pytest.mark.parametrize(
    ("wish", "status", "reason"),
    [
        ({"url": "http://10.0.0.1/x"}, 400, "address_closed"),
        ({"url": "http://localhost:1/x"}, 400, "address_closed"),
        ({"url": "ftp://example.com"}, 400, "invalid_arguments"),
        ({"table": "missing"}, 404, "not_found"),
        ({"table": "keyless"}, 409, "not_published"),
        ({"filters": ["colour=eq.red"]}, 400, "invalid_arguments"),
        ({"filters": ["amount=eq.red"]}, 400, "invalid_arguments"),
        ({"columns": ["colour"]}, 400, "invalid_arguments"),
        ({"events": ["object_created"]}, 400, "invalid_arguments"),
        ({"table": "gone", "with_old": True}, 409, "old_rows_missing"),
        ({"secret": "whsec_c2hvcnQ="}, 400, "invalid_arguments"),
        ({"headers": {"Webhook-Id": "x"}}, 400, "invalid_arguments"),
        ({"source": "auth"}, 400, "invalid_arguments"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_set(
    server: Platform,
    owner: RemoteAdministrator,
    target: Receiver,
    wish: dict[str, object],
    status: int,
    reason: str,
):
    arguments = {"name": "bad", "url": target.url("/bad"), "table": "orders", **wish}

    answered, body = owner.send("event_webhooks.add", arguments)

    assert (answered, body["code"]) == (status, reason), body


def test_the_command_adds_tests_rotates_and_says_what_is_wrong(
    server: Platform, owner: RemoteAdministrator, target: Receiver
):
    public = server.command("webhooks", "add", "far", "https://example.com/hooks", "--source", "storage")
    assert public.stdout.startswith("whsec_"), public.stderr
    first = add(owner, target, "mine", table="gone")
    assert server.command("webhooks", "test", "mine").returncode == 0
    second = server.command("webhooks", "rotate", "mine").stdout.strip()
    assert server.command("webhooks", "test", "mine").returncode == 0
    before, after = target.wait_for("/mine", 2)
    Webhook(first).verify(before.body, before.headers)
    for secret in (first, second):  # both sign for a day
        Webhook(secret).verify(after.body, after.headers)
    target.statuses["/mine"] = [503]
    failed = server.command("webhooks", "test", "mine")
    assert (failed.returncode, "503" in failed.stdout + failed.stderr) == (1, True)

    server.psql("drop table public.gone")

    assert "table public.gone does not exist" in server.command("webhooks", "list").stdout
    assert "the table of mine does not exist" in server.command("doctor").stdout
    assert server.command("webhooks", "remove", "mine").returncode == 0
    assert server.command("webhooks", "deliveries").returncode == 0


def _ids(target: Receiver, path: str) -> set[int]:
    return {event.json["data"]["record"]["id"] for event in target.at(path)}


def _until(
    owner: RemoteAdministrator, name: str, condition: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """Ask for a webhook until it is as it should be, and return it."""
    deadline = time.monotonic() + 60
    while True:
        [row] = [row for row in owner.send("event_webhooks.list", {})[1] if row["name"] == name]
        if condition(row):
            return row
        assert time.monotonic() < deadline, row
        time.sleep(0.1)  # between two questions: nothing announces the state of a webhook
