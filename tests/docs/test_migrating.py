"""The page docs/migrating.md, word for word: a project of one platform moves to another."""

import json
import os
import shutil
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from services.supervisor.binaries import find_postgres
from tests.docs.pages import ROOT
from tests.docs.walk import COMMANDS, PageShell, steps, take
from tests.platform import Platform, free_port, headwater, platform

PAGE = (ROOT / "docs" / "migrating.md").read_text(encoding="utf-8")
SECRET = "the secret of the project that moves, long enough"
OLD_URL = "postgresql://postgres:...@db.example.com:5432/postgres"
PASSWORD = "over the river"
PROJECT = """
create table public.profiles (id uuid primary key references auth.users, name text);
alter table public.profiles enable row level security;
create policy own on public.profiles for select to authenticated using (id = auth.uid());
create function public.greet() returns trigger language plpgsql security definer set search_path = '' as $$
begin insert into public.profiles values (new.id, new.email); return new; end $$;
create trigger greet after insert on auth.users for each row execute function public.greet();
create policy "own files" on storage.objects for all to authenticated
  using (bucket_id = 'files' and owner_id = auth.uid()::text) with check (bucket_id = 'files');
alter publication supabase_realtime add table public.profiles;
insert into storage.buckets (id, name, public) values ('files', 'files', false);
"""
CRYPTED = (
    f"update auth.users set encrypted_password = extensions.crypt('{PASSWORD}', extensions.gen_salt('bf', 4))"
)
"""The hash that a hosted project has."""

pytestmark = pytest.mark.timeout(240)


def test_a_project_moves_in(tmp_path: Path) -> None:
    (tmp_path / "functions.env").write_text("PAYMENT_KEY=sk_123\n")
    with platform(environment={"HEADWATER_AUTH_JWT_SECRET": SECRET}) as old:
        person, token = _lived_in(old)
        new = Platform(tmp_path / ".headwater", free_port(), 0, {})
        try:
            shown = _moved(new, old, tmp_path)

            assert shown.split()[-2:] == ["1", "1"]
            assert new.psql("select name from public.profiles").count("ada@example.com") == 1
            assert person in new.psql("select owner_id from storage.objects")
            assert "profiles" in new.psql("select tablename from pg_publication_tables")
            old_key = {"apikey": old.values["ANON_KEY"]}
            read = new.get("/rest/v1/profiles", {**old_key, "Authorization": f"Bearer {token}"})
            assert json.loads(read[1]) == [{"id": person, "name": "ada@example.com"}]
            entered = _post(
                new,
                "/auth/v1/token?grant_type=password",
                {"email": "ada@example.com", "password": PASSWORD},
                old_key,
            )
            mine = {**old_key, "Authorization": f"Bearer {entered['access_token']}"}
            assert new.get("/storage/v1/object/files/notes.txt", mine) == (200, b"of the river")
        finally:
            headwater("stop", "--data", str(new.data))


def _lived_in(old: Platform) -> tuple[str, str]:
    """Give the old platform a person with a file; give the id and an access token."""
    old.psql(PROJECT)
    old.wait_for_catalog("profiles")
    entered = _post(
        old,
        "/auth/v1/signup",
        {"email": "ada@example.com", "password": PASSWORD},
        {"apikey": old.values["ANON_KEY"]},
    )
    token = entered["access_token"]
    _post(
        old,
        "/storage/v1/object/files/notes.txt",
        b"of the river",
        {"Authorization": f"Bearer {token}", "Content-Type": "text/plain"},
    )
    old.psql(CRYPTED)
    return entered["user"]["id"], token


def _moved(new: Platform, old: Platform, folder: Path) -> str:
    """Go through the page; return what its last block prints. The platform that it starts gets a free port by the environment."""
    environment = {f"OLD_{name}": value for name, value in old.values.items()} | {
        "OLD_JWT_SECRET": SECRET,
        "HEADWATER_API_PORT": str(new.port),
        "PATH": f"{COMMANDS}:{find_postgres()}:{os.environ['PATH']}",
    }
    session, shown = PageShell(folder, environment), ""
    try:
        for step in steps(PAGE):
            if "headwater start" in step.text:
                shutil.copytree(ROOT / "examples/functions/supabase/functions", folder / "supabase/functions")
            shown = take(
                replace(step, text=step.text.replace(OLD_URL, old.values["DB_URL"])), session, new, folder
            )
            if "headwater start" in step.text:
                new.values = json.loads(headwater("status", "-o", "json", "--data", str(new.data)).stdout)
    finally:
        session.close()
    return shown


def _post(running_platform: Platform, path: str, body: object, headers: dict[str, str]) -> dict[str, object]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    asked = urllib.request.Request(
        running_platform.values["API_URL"] + path, data, {"Content-Type": "application/json", **headers}
    )
    with urllib.request.urlopen(asked, timeout=30) as answer:
        found: dict[str, object] = json.loads(answer.read())
    return found
