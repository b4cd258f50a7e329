"""What a data folder of an earlier release contains, and whether the platform that runs on it now has all of it.

`fill` speaks to the earlier release and `check` to the present one, both from outside: by HTTP and by SQL. A release adds to both
what it brought; facts of an older folder lack it, and `check` passes over what they lack.
"""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

PASSWORD = "a password of before"
_PATIENCE_S = 60
_EMAIL = "before@example.com"
_FUNCTION = "Deno.serve(async (req) => new Response(`before: ${await req.text()}`));"
_MIGRATION = """
create table public.notes (id bigint primary key, owner uuid, body text);
alter table public.notes enable row level security;
create policy own on public.notes for all to authenticated using (owner = (select auth.uid()));
grant all on public.notes to authenticated, service_role;
create table public.ticks (at timestamptz not null default now());
alter publication supabase_realtime add table public.notes;
create extension if not exists pg_cron;
create extension if not exists pgmq;
create function public.double(n int) returns int language sql as 'select n * 2';
"""
_SEED = "insert into public.notes values (1, null, 'of nobody');"
_JOBS = """
select cron.schedule('tick', '1 seconds', 'insert into public.ticks default values');
select pgmq.create('letters');
select pgmq.send('letters', '{"to": "after"}');
select vault.create_secret('a secret of before', 'kept');
"""

Psql = Callable[[str], str]
"""Runs SQL as role postgres and returns what psql prints."""


def write_project(folder: Path) -> None:
    """Write the project's folder: a migration, a seed and a function."""
    supabase = folder / "supabase"
    (supabase / "migrations").mkdir(parents=True)
    (supabase / "functions" / "echo").mkdir(parents=True)
    (supabase / "migrations" / "20260101000000_notes.sql").write_text(_MIGRATION)
    (supabase / "seed.sql").write_text(_SEED)
    (supabase / "functions" / "echo" / "index.ts").write_text(_FUNCTION)
    (supabase / "config.toml").write_text("[auth.email]\nenable_confirmations = false\n")


def fill(values: Mapping[str, str], psql: Psql) -> dict[str, Any]:
    """Fill a running platform of any release; return the facts that `check` compares."""
    session = _until(
        lambda: _json(values, "POST", "/auth/v1/signup", {"email": _EMAIL, "password": PASSWORD})
    )
    user, token = session["user"]["id"], session["access_token"]
    for number in range(2, 12):
        row = {"id": number, "owner": user, "body": f"note {number}"}
        _until(lambda row=row: _ask(values, "POST", "/rest/v1/notes", row, token))  # type: ignore[misc]  # bound now
    key = values["SERVICE_ROLE_KEY"]
    _ask(values, "POST", "/storage/v1/bucket", {"name": "open", "public": True}, key)
    sizes = {f"folder/{size}": size for size in (0, 11, 9_000, 300_000)}
    for name, size in sizes.items():
        _ask(values, "POST", f"/storage/v1/object/open/{name}", _bytes(size), key)
    psql(_JOBS)
    _until(lambda: _has_ticked(psql))
    assert _until(lambda: _ask(values, "POST", "/functions/v1/echo", b"hello", key)) == b"before: hello"
    return {"user": user, "refresh_token": session["refresh_token"], "objects": sizes, "notes": 10}


def check(values: Mapping[str, str], psql: Psql, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Assert that all is there and works; return the facts for the next check, because a refresh token is good for one use."""
    key = values["SERVICE_ROLE_KEY"]
    rows = json.loads(_until(lambda: _ask(values, "GET", "/rest/v1/notes?order=id", None, key)))
    assert [row["id"] for row in rows] == list(range(1, facts["notes"] + 2))
    refreshed = _json(
        values, "POST", "/auth/v1/token?grant_type=refresh_token", {"refresh_token": facts["refresh_token"]}
    )
    signed_in = _json(
        values, "POST", "/auth/v1/token?grant_type=password", {"email": _EMAIL, "password": PASSWORD}
    )
    for session in (refreshed, signed_in):
        assert session["user"]["id"] == facts["user"]
        own = json.loads(_ask(values, "GET", "/rest/v1/notes?select=id", None, session["access_token"]))
        assert len(own) == facts["notes"], "policies hold"
    for name, size in facts["objects"].items():
        assert _ask(values, "GET", f"/storage/v1/object/public/open/{name}", None, None) == _bytes(size), name
    _ask(values, "POST", f"/storage/v1/object/open/after-{time.time_ns()}", b"after", key)
    assert _until(lambda: _ask(values, "POST", "/functions/v1/echo", b"again", key)) == b"before: again"
    graph = json.loads(
        _ask(values, "POST", "/graphql/v1", {"query": "{ notesCollection { edges { node { id } } } }"}, key)
    )
    assert len(graph["data"]["notesCollection"]["edges"]) == len(rows)
    assert "a secret of before" in psql(
        "select decrypted_secret from vault.decrypted_secrets where name = 'kept'"
    )
    assert "after" in psql("select message from pgmq.read('letters', 0, 1)")
    psql("truncate public.ticks")
    _until(lambda: _has_ticked(psql))
    return {**facts, "refresh_token": refreshed["refresh_token"]}


def _has_ticked(psql: Psql) -> bool:
    assert "ticks: 0" not in psql("select 'ticks: ' || count(*) from public.ticks")
    return True


def _bytes(size: int) -> bytes:
    return bytes(number % 251 for number in range(size))


def _json(values: Mapping[str, str], method: str, path: str, body: object) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(_ask(values, method, path, body, None))
    return result


def _ask(values: Mapping[str, str], method: str, path: str, body: object, token: str | None) -> bytes:
    """Send one request. Raises: AssertionError with the answer if it is no success."""
    anon = values["ANON_KEY"]
    headers = {"apikey": anon, "Authorization": f"Bearer {token or anon}"}
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    if data is not None:
        headers["Content-Type"] = "text/plain" if isinstance(body, bytes) else "application/json"
    request = urllib.request.Request(values["API_URL"] + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            content: bytes = answer.read()
            return content
    except urllib.error.HTTPError as error:
        with error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read()[:500]!r}") from None


def _until(attempt: Callable[[], Any]) -> Any:
    """Repeat an attempt until it succeeds; its last error after a minute."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return attempt()
        except (AssertionError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
