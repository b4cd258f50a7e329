"""A platform whose project and data folder have the strangest path of all: start, a row by REST, backup, stop; and all the rest at length."""

import json
import os
import shutil
import tempfile
import urllib.request
from pathlib import Path

import psycopg
import pytest

from tests.fast import skip_in_fast_run
from tests.platform import Platform, headwater, prepare_data, state_of
from tests.ports import free_port
from tests.services.supervisor.test_strange_paths import STRANGE

_POOLER = (
    ("--pooler", "--db-tls") if shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin") else ()
)
_LONG = "und so weiter " * 8
_POOLS = ("--pool", "rest", "--pool", "storage", "--pool", "functions", "--pool", "management")


@pytest.fixture
def folder():
    skip_in_fast_run("platform")
    top = Path(tempfile.mkdtemp(prefix="headwater-test-"))
    top.chmod(0o711)
    real = top / STRANGE / _LONG.strip()
    real.mkdir(parents=True)
    (top / "link").symlink_to(real)
    try:
        yield top / "link" / "Überordner"
    finally:
        shutil.rmtree(top, ignore_errors=True)


def test_a_platform_at_the_strangest_path_starts_answers_and_is_backed_up(folder):
    folder.mkdir()
    data = folder / "data"
    prepare_data(data)
    started = headwater(
        "start", "--detach", "--data", str(data), "--project", str(folder), "--port", str(free_port()),
        "--pool", "rest", "--edge", "gateway",
    )  # fmt: skip
    try:
        assert started.returncode == 0, started.stdout + started.stderr
        one = Platform(data, 0, *state_of(data))
        one.psql("create table public.marks (id int primary key); grant all on public.marks to service_role")
        one.wait_for_catalog("marks")
        key = one.values["SERVICE_ROLE_KEY"]
        request = urllib.request.Request(
            f"{one.url}/rest/v1/marks",
            json.dumps({"id": 7}).encode(),
            {"apikey": key, "Authorization": f"Bearer {key}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status == 201

        saved = headwater("backup", str(folder / "saved"), "--data", str(data))

        assert saved.returncode == 0, saved.stdout + saved.stderr
    finally:
        stopped = headwater("stop", "--data", str(data))
    assert stopped.returncode == 0, stopped.stdout + stopped.stderr


_FUNCTION = "Deno.serve(async () => new Response(await (await import('../_shared/word.ts')).word()))\n"
_SHARED = "export const word = async () => 'from ' + (await Promise.resolve('there'))\n"
_MIGRATION = "create table public.marks (id int primary key); grant all on public.marks to service_role;\n"
_PGTAP = "begin; create extension if not exists pgtap; select plan(1); select has_table('marks'); select * from finish(); rollback;\n"


def _fill(project: Path) -> None:
    """Write a project with a migration, a seed, a function with a shared module, and a test."""
    for name, text in {
        "supabase/config.toml": "[storage.buckets.pictures]\nobjects_path = './pictures'\n",
        "supabase/pictures/größe & #1.txt": "an object",
        "supabase/migrations/20240101000000_marks.sql": _MIGRATION,
        "supabase/seed.sql": "insert into public.marks values (1);\n",
        "supabase/functions/hello/index.ts": _FUNCTION,
        "supabase/functions/_shared/word.ts": _SHARED,
        "supabase/tests/marks.sql": _PGTAP,
    }.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _request(one: Platform, path: str) -> str:
    """Send a request of the service role; return the body."""
    key = one.values["SERVICE_ROLE_KEY"]
    request = urllib.request.Request(
        one.url + path, headers={"apikey": key, "Authorization": f"Bearer {key}"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.read().decode())


def test_every_command_works_at_the_strangest_path(folder):
    folder.mkdir()
    _fill(folder)
    data = folder / ".headwater"
    place = ("--data", str(data), "--project", str(folder))

    def run(*words: str) -> str:
        done = headwater(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    try:
        run("start", "--detach", *place, "--port", str(free_port()), "--edge", "gateway", *_POOLS, *_POOLER)
        one = Platform(data, 0, *state_of(data))
        answers = [
            _request(one, "/functions/v1/hello"),
            _request(one, "/rest/v1/marks"),
            _request(one, "/storage/v1/object/pictures/gr%C3%B6%C3%9Fe%20&%20%231.txt"),
        ]
        if _POOLER:
            with psycopg.connect(
                f"{one.values['POOLER_URL']}?sslmode=require", prepare_threshold=None
            ) as connection:
                answers.append(str(connection.execute("select id from public.marks").fetchone()))
        tested = run("test", "db", *place)
        difference = run("db", "diff", *place)
        run("branch", "create", "copy", *place)
        run("start", "--detach", *place, "--branch", "copy", *_POOLS, "--edge", "gateway")
        branch = json.loads(run("status", *place, "--branch", "copy", "-o", "json"))
        request = urllib.request.Request(
            f"{branch['API_URL']}/rest/v1/marks", headers={"apikey": branch["SERVICE_ROLE_KEY"]}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            answers.append(answer.read().decode())
        run("stop", *place, "--branch", "copy")
        run("backup", str(folder / "saved"), "--data", str(data))
        one.psql("delete from public.marks")
        run("restore", str(folder / "saved"), "--data", str(data), "--force")
        restored = one.psql("select 'marks ' || count(*) from public.marks")
    finally:
        for words in (("--branch", "copy"), ()):
            headwater("stop", *place, *words)

    pooled = ["(1,)"] if _POOLER else []
    assert answers == ["from there", '[{"id":1}]', "an object", *pooled, '[{"id":1}]']
    assert "marks.sql" in tested
    assert "create table" not in difference
    assert "marks 1" in restored


def test_projects_among_several_are_served_from_the_strangest_path(folder):
    folder.mkdir()
    root, port = folder / "projects", free_port()

    def run(*words: str) -> str:
        done = headwater("projects", "--root", str(root), *words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    try:
        run("add", "shop")
        _fill(root / "shop")
        run("start", "--detach", "--port", str(port))
        run("wake", "shop")
        values = json.loads(run("status", "shop", "-o", "json"))
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/shop/functions/v1/hello",
            headers={
                "apikey": values["SERVICE_ROLE_KEY"],
                "Authorization": f"Bearer {values['SERVICE_ROLE_KEY']}",
            },
        )
        with urllib.request.urlopen(request, timeout=90) as answer:
            body = answer.read().decode()
    finally:
        headwater("projects", "--root", str(root), "stop")

    assert body == "from there"
