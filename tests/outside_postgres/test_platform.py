"""A platform on another Postgres than the embedded one: every area answers, and every command does its work.

`make test-postgres` runs this with the versions that can be had (`TEST_POSTGRES` names the folder of the programs).
"""

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.platform import Platform, headwater, platform
from tests.workers.database.server import OUTSIDE

pytestmark = [
    pytest.mark.skipif(OUTSIDE is None, reason="TEST_POSTGRES names no other Postgres"),
    pytest.mark.process_group("outside postgres"),
    pytest.mark.timeout(300),
]

_TRUSTED = {"HEADWATER_DB_TRUSTED_PROJECT": "true"}  # Postgres 15 is refused without it
_MIGRATION = """
create extension citext with schema extensions;
create table public.rivers (id int primary key, name text not null, owner uuid default auth.uid());
alter table public.rivers enable row level security;
create policy own on public.rivers using (owner = auth.uid() or id = 1) with check (owner = auth.uid());
grant select, insert, update, delete on public.rivers to anon, authenticated;
insert into public.rivers values (1, 'Nile', null);
alter publication supabase_realtime add table public.rivers;
"""


@dataclass(frozen=True, slots=True)
class Deployment:
    """A platform, the folder of its project, and the settings that its commands need."""

    platform: Platform
    project: Path

    def command(self, *words: str) -> CompletedProcess[str]:
        """Run a command of `headwater` that must succeed."""
        done = headwater(
            *words, "--data", str(self.platform.data), "--project", str(self.project), environment=_TRUSTED
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done

    def send(self, path: str, body: object, token: str = "", method: str = "POST", **headers: str) -> bytes:
        """Send a request with the service key, or with the public key and a user's token."""
        values = self.platform.values
        key = values["ANON_KEY"] if token else values["SERVICE_ROLE_KEY"]
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        all_headers = {
            "apikey": key,
            "Authorization": f"Bearer {token or key}",
            "Content-Type": "application/json",
            **headers,
        }
        request = urllib.request.Request(values["API_URL"] + path, data, all_headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return bytes(answer.read())


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A platform whose project has one migration."""
    project = tmp_path_factory.mktemp("project")
    (project / "supabase" / "migrations").mkdir(parents=True)
    (project / "supabase" / "migrations" / "20260101000000_rivers.sql").write_text(_MIGRATION)
    with platform("--project", str(project), environment=_TRUSTED) as one:
        one.wait_for_catalog("rivers")
        yield Deployment(one, project)


@pytest.fixture(scope="module")
def token(deployment: Deployment) -> str:
    """The access token of a user who signed up."""
    entered = json.loads(
        deployment.send("/auth/v1/signup", {"email": "a@example.com", "password": "over the river"})
    )
    return str(entered["access_token"])


def test_rest_keeps_to_row_level_security(deployment: Deployment, token: str) -> None:
    deployment.send("/rest/v1/rivers", {"id": 2, "name": "Rhine"}, token)

    assert deployment.platform.get("/rest/v1/rivers?select=id&order=id")[1] == b'[{"id":1}]'
    status, own = deployment.platform.get(
        "/rest/v1/rivers?select=id&order=id", {"Authorization": f"Bearer {token}"}
    )
    assert (status, json.loads(own)) == (200, [{"id": 1}, {"id": 2}])


def test_graphql_reads_and_writes(deployment: Deployment, token: str) -> None:
    query = 'mutation { insertIntoriversCollection(objects: [{id: 3, name: "Po"}]) { records { name } } }'
    answer = json.loads(deployment.send("/graphql/v1", {"query": query}, token))

    assert answer["data"]["insertIntoriversCollection"]["records"] == [{"name": "Po"}]


def test_objects_come_back(deployment: Deployment) -> None:
    deployment.send("/storage/v1/bucket", {"id": "open", "name": "open", "public": True})
    deployment.send("/storage/v1/object/open/a.txt", b"words", **{"Content-Type": "text/plain"})

    assert deployment.platform.get("/storage/v1/object/public/open/a.txt") == (200, b"words")
    listed = json.loads(deployment.send("/storage/v1/object/list/open", {"prefix": ""}))
    assert [each["name"] for each in listed] == ["a.txt"]


def test_changes_of_rows_arrive(deployment: Deployment) -> None:
    url = f"{deployment.platform.values['API_URL']}/realtime/v1/changes?table=rivers"
    request = urllib.request.Request(url, headers={"apikey": deployment.platform.values["SERVICE_ROLE_KEY"]})
    with urllib.request.urlopen(request, timeout=60) as stream:
        for line in stream:
            if line.startswith(b"event: subscribed"):
                deployment.send("/rest/v1/rivers", {"id": 4, "name": "Elbe"})
            if line.startswith(b"data:") and b"Elbe" in line:
                return
    raise AssertionError("the change did not arrive")


def test_each_command_does_its_work(deployment: Deployment) -> None:
    assert "rivers" not in deployment.command("db", "diff").stdout
    assert "create table" in deployment.command("db", "dump").stdout.lower()
    assert "Nile" in deployment.command("db", "dump", "--data-only").stdout
    assert "rivers" in deployment.command("gen", "types", "typescript").stdout
    assert "20260101000000" in deployment.command("migration", "list").stdout
    deployment.command("db", "lint")
    deployment.command("upgrade", "--dry-run")


def test_doctor_finds_a_sound_database(deployment: Deployment) -> None:
    done = headwater(
        "doctor",
        "--data",
        str(deployment.platform.data),
        "--project",
        str(deployment.project),
        environment=_TRUSTED,
    )
    said = done.stdout + done.stderr

    assert "ok  migrations" in said, said
    assert "ok  realtime" in said, said


def test_a_backup_is_restored_on_the_same_version(deployment: Deployment, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    deployment.command("backup", str(folder))

    with platform(environment=_TRUSTED) as other:
        done = headwater("restore", str(folder), "--data", str(other.data), environment=_TRUSTED)
        assert done.returncode == 0, done.stderr
        other.wait_for_catalog("rivers")
        assert other.get("/rest/v1/rivers?id=eq.1&select=name") == (200, b'[{"name":"Nile"}]')
        assert other.get("/health/ready")[0] == 200
