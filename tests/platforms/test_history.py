"""History of rows on a whole platform: who wrote which version, who may see it, and what role postgres cannot forge."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.platform import Platform
from tests.platforms.conftest import token
from tests.workers.management.operations.conftest import RemoteAdministrator, administrator

ANN, BOB = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
TYPE = "application/vnd.headwater.history+json"
SCHEMA = """
create table public.notes (id int primary key, owner uuid, body text, secret text, n int not null default 0);
alter table public.notes enable row level security;
create policy own on public.notes using (owner = auth.uid()) with check (true);
revoke all on public.notes from anon, authenticated;
grant select (id, owner, body, n), insert, update, delete on public.notes to authenticated;
grant all on public.notes to service_role;
create table public.orders (id int primary key, note int);
grant all on public.orders to authenticated, service_role;
create function public.note_order() returns trigger language plpgsql security definer as $$
begin update public.notes set n = n + 1 where id = new.note; return null; end $$;
create trigger note_order after insert on public.orders for each row execute function public.note_order();
create function public.bump(note int) returns void language sql as 'update public.notes set n = n + 1 where id = note';
create table public.plain (body text);
create table public.computed (id int primary key, twice int generated always as (id * 2) virtual);
create table public.doubled (id int primary key, n int, twice int generated always as (n * 2) stored);
create view public.shown as select * from public.notes;
create table public.kinds (
  a int, b text, at timestamptz, raw bytea, tags text[], data jsonb, price numeric(10,2), many int generated always as identity,
  primary key (b, a)
);
grant all on public.kinds to service_role;
"""


class History:
    """The platform under test, its callers, and what they ask."""

    def __init__(self, server: Platform) -> None:
        self.server = server
        self.owner: RemoteAdministrator = administrator(server, "history", "--rights", "owner", "--write")
        self.tokens = {sub: token(server, sub=sub) for sub in (ANN, BOB)}
        self.tokens["service"] = server.values["SERVICE_ROLE_KEY"]

    def send(
        self, who: str, method: str, path: str, body: object = None, **headers: str
    ) -> tuple[int, Any, str]:
        """Send a request as a caller; return status, body and request id."""
        own = {
            "apikey": self.server.values["ANON_KEY"], "authorization": f"Bearer {self.tokens[who]}",
            "content-type": "application/json", **headers,
        }  # fmt: skip
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server.url + path, data, own, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None, answer.headers["x-request-id"]
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read()), ""

    def seen(self, who: str, query: str, table: str = "notes") -> list[dict[str, Any]]:
        """Return the versions that a caller sees."""
        status, body, _ = self.send(who, "GET", f"/rest/v1/{table}?{query}", accept=TYPE)
        assert status == 200, body
        versions: list[dict[str, Any]] = body["versions"]
        return versions

    def stored(self, key: dict[str, object], count: int, table: str = "notes") -> list[dict[str, Any]]:
        """Wait until a row has so many versions; return them, the oldest first."""
        deadline = time.monotonic() + 30
        while True:
            page = self.owner.run("history.versions", table=table, key=key)
            if len(page["versions"]) >= count or time.monotonic() > deadline:
                assert len(page["versions"]) == count, page
                return list(reversed(page["versions"]))
            time.sleep(0.05)  # the consumer is another process


@pytest.fixture(scope="module")
def history(running_platform: Platform) -> History:
    running_platform.psql(SCHEMA)
    running_platform.wait_for_catalog("kinds")
    made = History(running_platform)
    for table in ("notes", "kinds"):
        state = made.owner.run("history.change", table=table, days=30)
        assert state == {"is_on": True, "is_waiting": False}
    wait_until_signed(made)
    return made


def wait_until_signed(history: History) -> None:
    """Wait until the workers know that a table has a history: they learn it with their next catalog."""
    deadline = time.monotonic() + 30
    for number in range(-1, -1000, -1):
        history.send("service", "POST", "/rest/v1/notes", {"id": number})
        [version] = history.stored({"id": number}, 1)
        if version["cause"]["source"] == "request":
            return
        assert time.monotonic() < deadline, version


def test_each_version_names_the_request_the_caller_and_the_kind_of_session(history: History):
    _, _, inserted = history.send(ANN, "POST", "/rest/v1/notes", {"id": 1, "owner": ANN, "body": "a"})
    history.send(ANN, "PATCH", "/rest/v1/notes?id=eq.1&body=eq.a", {"body": "b"})
    history.send(BOB, "POST", "/rest/v1/orders", {"id": 1, "note": 1})
    history.send("service", "POST", "/rest/v1/rpc/bump", {"note": 1})
    mutation = 'mutation { updatenotesCollection(set: {body: "c"}, filter: {id: {eq: 1}}) { affectedCount } }'
    history.send("service", "POST", "/graphql/v1", {"query": mutation})
    history.owner.run("rows.update", table="notes", updates=[{"key": {"id": 1}, "values": {"body": "d"}}])
    history.server.psql("update public.notes set body = 'e' where id = 1")

    versions = history.stored({"id": 1}, 7)

    causes = [version["cause"] for version in versions]
    said = [
        (each["source"], each.get("role"), each.get("sub"), each.get("area"), each.get("request"))
        for each in causes
    ]
    assert said == [
        ("request", "authenticated", ANN, "rest", "POST /notes"),
        ("request", "authenticated", ANN, "rest", "PATCH /notes"),
        ("request", "authenticated", BOB, "rest", "POST /orders"),
        ("request", "service_role", None, "rest", "POST /rpc/bump"),
        ("request", "service_role", None, "graphql", "POST /"),
        ("dashboard", "postgres", None, "management", "POST /operations/rows.update"),
        ("sql", None, None, None, None),
    ]
    assert causes[0]["request_id"] == inserted
    assert [each.get("by_trigger", False) for each in causes] == [
        False,
        False,
        True,
        False,
        False,
        False,
        False,
    ]
    assert [version["changed"] for version in versions[1:4]] == [["body"], ["n"], ["n"]]
    assert (versions[1]["before"], versions[1]["after"]["body"]) == ({"body": "a"}, "b")


def test_a_caller_sees_what_he_may_read_now_of_the_row_that_is_there_now(history: History):
    history.send("service", "POST", "/rest/v1/notes", {"id": 2, "owner": BOB, "body": "Bob's"})
    history.send("service", "DELETE", "/rest/v1/notes?id=eq.2")
    history.send("service", "POST", "/rest/v1/notes", {"id": 2, "owner": ANN, "body": "Ann's", "secret": "s"})
    history.send("service", "PATCH", "/rest/v1/notes?id=eq.2", {"secret": "t"})
    history.send(ANN, "PATCH", "/rest/v1/notes?id=eq.2", {"body": "mine"})
    history.stored({"id": 2}, 5)

    newest, oldest = history.seen(ANN, "id=eq.2")

    assert newest["after"] == {"id": 2, "owner": ANN, "body": "mine", "n": 0}
    assert (newest["changed"], newest["cause"]["sub"], newest["cause"]["is_yours"]) == (["body"], ANN, True)
    assert oldest["operation"] == "insert"
    assert oldest["cause"] == {"source": "request", "role": "service_role"}
    assert history.seen(BOB, "id=eq.2") == []
    assert len(history.seen("service", "id=eq.2")) == 5
    assert len(history.seen(ANN, "id=eq.2&%73elect=body&%6Cimit=1000")) == 2
    history.send("service", "DELETE", "/rest/v1/notes?id=eq.2")
    history.stored({"id": 2}, 6)
    assert history.seen(ANN, "id=eq.2") == []


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/rest/v1/orders?id=eq.1", 406, "HW406"),
        ("GET", "/rest/v1/notes?no_such_column=eq.1", 400, "42703"),
        ("GET", "/rest/v1/nowhere?id=eq.1", 404, "RESTERR205"),
        ("POST", "/rest/v1/notes", 405, "HW405"),
        ("GET", "/rest/v1/rpc/bump?note=1", 405, "HW405"),
    ],
)
def test_a_wrong_question_says_what_is_wrong(
    history: History, method: str, path: str, status: int, code: str
):
    answered, body, _ = history.send("service", method, path, {} if method == "POST" else None, accept=TYPE)

    assert (answered, body["code"]) == (status, code)


def test_role_postgres_writes_nobodys_name(history: History):
    history.send("service", "POST", "/rest/v1/notes", {"id": 3, "owner": ANN})
    history.server.psql("select pg_create_logical_replication_slot('thief', 'test_decoding')")
    history.send(ANN, "PATCH", "/rest/v1/notes?id=eq.3", {"body": "hers"})
    stolen = history.server.psql(
        "copy (select substring(data from 'content:(.*)') from pg_logical_slot_get_changes('thief', null, null, 'include-xids', '0')"
        " where data like '%prefix: headwater.cause%' and data like '%PATCH%') to stdout"
    )
    cause = stolen.strip().split("\\n")[0]
    assert ANN in cause
    history.server.psql("select pg_drop_replication_slot('thief')")
    quoted = "'" + cause.replace("'", "''") + "'"
    forged = "'" + cause.replace("'", "''").replace("PATCH", "DELETE") + "'"
    for given in (quoted, forged):
        history.server.psql(
            f"begin; select set_config('headwater.cause', {given}, true);"
            "update public.notes set body = 'forged' where id = 3; commit"
        )
        history.server.psql(
            f"begin; alter table public.notes disable trigger headwater_history;"
            f"select pg_logical_emit_message(true, 'headwater.cause', {given} || E'\\n1\\nauthenticator\\nheadwater');"
            "update public.notes set body = 'forged again' where id = 3; alter table public.notes enable always trigger headwater_history; commit"
        )

    versions = history.stored({"id": 3}, 6)

    assert [version["cause"]["source"] for version in versions] == [
        "request",
        "request",
        "sql",
        "unknown",
        "sql",
        "unknown",
    ]
    assert [version["cause"].get("sub") for version in versions[2:]] == [None] * 4


@pytest.mark.parametrize("role", ["anon", "authenticated", "service_role", "postgres"])
def test_no_role_of_the_project_writes_history(history: History, role: str):
    for statement in (
        "delete from headwater_history.versions",
        "insert into headwater_history.gaps values (1, 1, 'x')",
        "drop table headwater_history.versions cascade",
        "alter table headwater_history.tables add column x int",
        "select headwater.history_off(1)",
        "select headwater.history_on('public.notes'::regclass, 1)",
        "create table headwater_history.mine ()",
    ):
        done = history.server.command("psql", "-c", f"set role {role}; {statement}")
        assert "permission denied" in done.stderr or "must be owner" in done.stderr, (
            role,
            statement,
            done.stderr,
        )
    if role != "postgres":
        done = history.server.command(
            "psql", "-c", f"set role {role}; select * from headwater_history.versions"
        )
        assert "permission denied" in done.stderr


def test_every_type_comes_back_by_undoing(history: History):
    first = {
        "a": 1, "b": 'x"\\y', "at": "2026-01-02T03:04:05.678+00:00", "raw": "\\x00ff", "tags": ["a", "b c"],
        "data": {"k": [1, None]}, "price": 1.50,
    }  # fmt: skip
    status, body, _ = history.send("service", "POST", "/rest/v1/kinds", first)
    assert status == 201, body
    key = {"a": 1, "b": first["b"]}
    history.send(
        "service", "PATCH", "/rest/v1/kinds?a=eq.1",
        {"raw": None, "tags": [], "data": None, "price": 2, "at": None},
    )  # fmt: skip
    history.send("service", "DELETE", "/rest/v1/kinds?a=eq.1")
    *_, updated, deleted = history.stored(key, 3, "kinds")

    assert history.owner.refused("history.undo", table="kinds", version=updated["version"]) == (
        409,
        "conflict",
    )
    history.owner.run("history.undo", table="kinds", version=deleted["version"])
    assert history.owner.refused("history.undo", table="kinds", version=deleted["version"]) == (409, "exists")
    history.owner.run("history.undo", table="kinds", version=updated["version"])
    assert history.owner.refused("history.undo", table="kinds", version=updated["version"]) == (
        409,
        "conflict",
    )

    _, [row], _ = history.send("service", "GET", "/rest/v1/kinds?a=eq.1")
    assert row == {**first, "many": 1}
    assert [version["operation"] for version in history.stored(key, 5, "kinds")[3:]] == ["insert", "update"]


def test_keys_are_found_as_they_are_written(history: History):
    history.send("service", "POST", "/rest/v1/kinds", [{"a": 7, "b": "ü\n"}, {"a": 8, "b": "\\x41"}])
    for number, text in ((7, "ü\n"), (8, "\\x41")):
        history.stored({"a": number, "b": text}, 1, "kinds")
        assert len(history.seen("service", f"a=eq.{number}", "kinds")) == 1
    shown = history.server.command("history", "kinds", "a=8", "b=\\x41")
    assert "insert by service_role, rest POST /kinds" in shown.stdout


def test_chosen_rows_of_a_moment_come_back_in_one_transaction(history: History):
    psql, run = history.server.psql, history.owner.run
    psql("create table public.boxes (a text, b int, label text unique, raw bytea, primary key (b, a))")
    assert run("history.change", table="boxes", days=3)["is_on"]
    psql(
        "insert into public.boxes values ('x', 1, 'one', '\\xff'), ('x', 2, 'two', null), ('z', 4, 'four', null)"
    )
    history.stored({"a": "z", "b": 4}, 1, "boxes")
    moment = datetime.now(UTC).isoformat()
    psql(
        "update public.boxes set label = 'new', raw = null where b = 1; delete from public.boxes where b = 2;"
        "insert into public.boxes values ('x', 3, 'two', null); alter table public.boxes add column later int default 7"
    )
    history.stored({"a": "x", "b": 3}, 1, "boxes")

    past = {row["key"]: row for row in run("history.rows_at", table="boxes", moment=moment)["rows"]}
    assert {key: row["state"] for key, row in past.items()} == {
        '[1,"x"]': "row", '[2,"x"]': "row", '[3,"x"]': "absent",
    }  # fmt: skip
    asked = {"table": "boxes", "moment": moment, "keys": [*past, {"a": "z", "b": 4}]}
    trial = run("history.copy_rows", **asked, only_tries=True)
    assert {row["key"]: (row["action"], row["before"].get("label")) for row in trial["rows"]} == {
        '[1,"x"]': ("update", "new"), '[2,"x"]': ("insert", None), '[3,"x"]': ("delete", "two"), '[4,"z"]': ("none", None),
    }  # fmt: skip
    psql("update public.boxes set label = 'newest' where b = 1")
    assert history.owner.refused("history.copy_rows", **asked, expected=trial["state"]) == (409, "conflict")
    assert "newest" in psql("table public.boxes")

    state = run("history.copy_rows", **asked, only_tries=True)["state"]
    psql("create function public.stay() returns trigger language plpgsql as 'begin return null; end';")
    psql("create trigger stay before insert on public.boxes for each row execute function public.stay()")
    assert history.owner.refused("history.copy_rows", **asked, expected=state) == (409, "not_stored")
    assert "newest" in psql("table public.boxes")  # of all or none
    psql("drop trigger stay on public.boxes")
    run("history.copy_rows", **asked, expected=state)
    rows = psql("select jsonb_agg(to_jsonb(x) order by b) from public.boxes as x")
    assert '{"a": "x", "b": 1, "raw": "\\\\xff", "label": "one", "later": 7}' in rows
    assert '"label": "two"' in rows
    assert '"b": 3' not in rows
    assert history.stored({"a": "x", "b": 2}, 3, "boxes")[-1]["operation"] == "insert"
    for wrong, refusal in (
        ({"moment": "yesterday"}, (400, "invalid_arguments")), ({"moment": "2020-01-01T00:00:00Z"}, (409, "moment_unknown")),
        ({"table": "plain"}, (409, "no_history")), ({"keys": []}, (400, "invalid_arguments")),
    ):  # fmt: skip
        assert history.owner.refused("history.copy_rows", **{**asked, **wrong}, only_tries=True) == refusal
    assert history.owner.refused("history.copy_rows", **asked) == (400, "invalid_arguments")


def test_a_person_is_erased_and_what_is_left_has_no_name(history: History):
    person = "33333333-3333-3333-3333-333333333333"
    history.tokens[person] = token(history.server, sub=person)
    history.send("service", "POST", "/rest/v1/notes", [{"id": 40, "owner": person}, {"id": 41, "owner": BOB}])
    history.send(person, "PATCH", "/rest/v1/notes?id=eq.40", {"body": "x"})
    history.server.psql("update public.notes set owner = null where id = 40")
    history.send("service", "PATCH", "/rest/v1/notes?id=eq.41", {"owner": person})
    history.send(person, "POST", "/rest/v1/notes", {"id": 42, "owner": BOB})
    history.stored({"id": 40}, 3)
    history.stored({"id": 41}, 2)
    history.stored({"id": 42}, 1)

    done = history.server.command("history", "erase", "notes", "--column", "owner", "--person", person)

    assert done.stdout == "5 versions removed, the person's name in 1\n"
    [left] = history.stored({"id": 42}, 1)
    assert left["cause"].get("sub") is None
    assert (
        history.server.psql(
            f"select count(*) from headwater_history.versions v where v::text like '%{person}%'"
        ).split()[2]
        == "0"
    )


def test_a_gap_is_shown_and_ends_what_callers_see(history: History):
    history.send("service", "POST", "/rest/v1/notes", {"id": 5, "owner": ANN, "body": "before"})
    history.stored({"id": 5}, 1)
    history.server.psql(
        "alter table public.notes replica identity default; update public.notes set body = 'in it' where id = 5"
    )
    deadline = time.monotonic() + 30
    while not history.owner.run("history.versions", table="notes", key={"id": 5})["gaps"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)  # the consumer is another process
    while "f" not in history.server.psql("select relreplident from pg_class where relname = 'notes'").split():
        assert time.monotonic() < deadline
        time.sleep(0.05)  # and switches the identity back
    history.send(ANN, "PATCH", "/rest/v1/notes?id=eq.5", {"body": "after"})
    history.stored({"id": 5}, 3)

    _, body, _ = history.send(ANN, "GET", "/rest/v1/notes?id=eq.5", accept=TYPE)

    assert [gap["reason"] for gap in body["gaps"]] == ["the replica identity of the table was not full"]
    assert [version["after"]["body"] for version in body["versions"]] == ["after", "in it"]
    assert "versions of public.notes may be missing" in history.server.command("doctor").stdout


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("plain", "public.plain has no primary key, so its rows cannot be told apart"),
        (
            "computed",
            "public.computed has virtual generated columns, which Postgres does not let into a full replica identity",
        ),
        ("shown", "public.shown is a view: only ordinary tables have a history"),
        ("nowhere", "table or view public.nowhere"),
        ("auth.users", "Tables of the platform's own schemas have no history"),
    ],
)
def test_what_cannot_have_a_history_says_why(history: History, table: str, message: str):
    schema, _, name = table.rpartition(".")

    status, body = history.owner.send(
        "history.change", {"table": name, "schema": schema or "public", "days": 30}
    )

    assert status in (404, 409)
    assert message in body["message"]


def test_stored_generated_columns_are_in_versions_while_each_publication_has_them(history: History):
    psql, run = history.server.psql, history.owner.run
    assert run("history.change", table="doubled", days=3)["is_on"]
    psql("insert into public.doubled (id, n) values (1, 2); update public.doubled set n = 3")
    version = history.stored({"id": 1}, 2, "doubled")[-1]
    assert (version["before"], version["after"]["twice"]) == ({"n": 2, "twice": 4}, 6)
    run("history.undo", table="doubled", version=version["version"])
    assert "4" in psql("select twice from public.doubled").split()

    psql("create publication lacking for table public.doubled")
    wait_for(lambda: not any(row["is_on"] for row in run("history.tables") if row["table"] == "doubled"))
    psql("update public.doubled set n = 4")
    status, body = history.owner.send("history.change", {"table": "doubled", "days": 3})
    assert (status, "A publication of public.doubled lacks" in body["message"]) == (409, True)
    psql("alter publication lacking set (publish_generated_columns = stored)")
    assert run("history.change", table="doubled", days=3)["is_on"]
    psql("drop publication lacking")


def test_a_history_that_is_off_leaves_the_table_as_it_was(history: History):
    state = (
        "select relreplident, (select count(*) from pg_trigger where tgrelid = c.oid and tgname like 'headwater%'), "
        "obj_description(oid) from pg_class c where relname = 'kinds'"
    )
    history.server.psql(
        """comment on table public.kinds is 'All kinds @headwater({"history": {"days": 400}}) of it'"""
    )
    wait_for(
        lambda: (
            "400"
            in history.server.psql("select days from headwater_history.tables where table_name = 'kinds'")
        )
    )

    assert history.server.command("history", "off", "kinds").returncode == 0
    assert history.server.psql(state).splitlines()[2].split("|") == [
        " d            ",
        "     0 ",
        " All kinds of it",
    ]
    assert (
        "The history of this table is off"
        in history.server.command("history", "kinds", "a=8", "b=\\x41").stdout
    )
    assert history.server.command("history", "on", "kinds").returncode == 0
    assert "was off" in history.server.command("history", "list").stdout
    assert history.server.command("history", "off", "kinds", "--forget").returncode == 0
    assert "kinds" not in history.server.command("history", "list").stdout


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)  # between two questions to another process
