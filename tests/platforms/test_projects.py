"""Two projects on one server: they wake and sleep, and what happens to one does not reach the other."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest

from services.projects.idleness import look
from services.projects.platform_process import PlatformProcess
from services.projects.registry import ServerFolder, find_project
from services.supervisor.data_folder.folder import is_locked
from tests.fast import skip_in_fast_run
from tests.platform import headwater, prepare_data
from tests.ports import free_port

pytestmark = [pytest.mark.process_group("projects"), pytest.mark.timeout(400)]

_WAIT_S = 120.0
_KEY = 21_03
_SCHEMA = f"""
create table public.notes (id int primary key, text text);
insert into public.notes values (1, 'NAME');
grant select on public.notes to anon;
create function public.wait_in_line() returns int language sql as 'select 1 from pg_advisory_xact_lock_shared({_KEY})';
notify pgrst;
"""


@dataclass(frozen=True)
class Server:
    """A server of projects with the projects `one` and `two`, both with the table `notes`."""

    root: Path
    port: int

    def command(self, *words: str) -> str:
        """Run `headwater projects`; return what it prints."""
        done = headwater("projects", "--root", str(self.root), *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def values(self, name: str) -> dict[str, str]:
        values: dict[str, str] = json.loads(self.command("status", name, "-o", "json"))
        return values

    def status(self, name: str) -> dict[str, Any]:
        listed = json.loads(self.command("list", "-o", "json"))
        status: dict[str, Any] = next(project["status"] for project in listed if project["name"] == name)
        return status

    def state(self, name: str) -> dict[str, Any]:
        """Return the state of the project's own platform."""
        state: dict[str, Any] = json.loads((self.data(name) / "state.json").read_text())
        return state

    def data(self, name: str) -> Path:
        return self.root / name / ".headwater"

    def awakenings(self, name: str) -> int:
        return (self.root / "server.log").read_text().count(f" {name}: awake after")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    skip_in_fast_run("platform")
    root = Path(tempfile.mkdtemp(prefix="headwater-test-"))
    started = Server(root, free_port())
    try:
        for name in ("one", "two"):
            started.command("add", name)
            prepare_data(started.data(name))
        started.command("start", "--detach", "--port", str(started.port), "--trusted-proxy", "127.0.0.1")
        for name in ("one", "two"):
            started.command("wake", name)
            with psycopg.connect(started.values(name)["DB_URL"], autocommit=True) as connection:
                connection.execute(_SCHEMA.replace("NAME", name))
        yield started
    finally:
        headwater("projects", "--root", str(root), "stop")
        for name in ("one", "two"):
            headwater("stop", "--data", str(started.data(name)))
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
async def client(server: Server) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(
        f"http://127.0.0.1:{server.port}",
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=_WAIT_S),
    ) as session:
        yield session


async def note(client: aiohttp.ClientSession, name: str, key: str) -> tuple[int, str]:
    """Return the status and the text of the project's note."""
    async with client.get(f"/{name}/rest/v1/notes?select=text", headers={"apikey": key}) as answer:
        body = await answer.read()
        return answer.status, json.loads(body)[0]["text"] if answer.status == 200 else body.decode()


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + _WAIT_S
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.05)


async def until_note(client: aiohttp.ClientSession, name: str, key: str) -> None:
    """Wait until the project answers with its own note."""
    deadline = time.monotonic() + _WAIT_S
    while (answer := await note(client, name, key)) != (200, name):
        assert time.monotonic() < deadline, answer
        await asyncio.sleep(0.1)


async def test_each_project_answers_its_own_keys_at_its_host_and_its_path(
    server: Server, client: aiohttp.ClientSession
) -> None:
    keys = {name: server.values(name)["ANON_KEY"] for name in ("one", "two")}
    for name in keys:
        await until_note(client, name, keys[name])

    by_host = await client.get(
        "/rest/v1/notes?select=text", headers={"Host": f"two.localhost:{server.port}", "apikey": keys["two"]}
    )
    crossed = [(await note(client, name, keys[other]))[0] for name, other in (("one", "two"), ("two", "one"))]

    assert await by_host.json() == [{"text": "two"}]
    assert crossed == [401, 401]
    assert server.values("one")["JWT_SECRET"] != server.values("two")["JWT_SECRET"]
    assert (server.root / "one" / ".env").stat().st_mode & 0o777 == 0o600


async def test_the_front_alone_names_the_clients_of_a_project(
    server: Server, client: aiohttp.ClientSession
) -> None:
    """A hosted function reaches its project's own port, and others of the machine, from 127.0.0.1 as the front does."""
    values, seen = server.values("one"), {}
    own = f"http://127.0.0.1:{server.state('one')['ports']['api']}"
    for way, url in (("front", "/one"), ("own port", own)):
        email = f"{uuid.uuid4().hex}@example.com"
        headers = {
            "apikey": values["ANON_KEY"],
            "X-Forwarded-For": "203.0.113.7",
            "Headwater-Proxy-Secret": "guessed-guessed-guessed",
        }
        body = {"email": email, "password": "a long enough password"}
        async with client.post(f"{url}/auth/v1/signup", json=body, headers=headers) as answer:
            assert answer.status == 200, await answer.text()
        with psycopg.connect(values["DB_URL"]) as connection:
            row = connection.execute(
                "select host(ip) from auth.sessions join auth.users on users.id = user_id where email = %s",
                [email],
            ).fetchone()
        seen[way] = row[0] if row else None

    assert seen == {"front": "203.0.113.7", "own port": "127.0.0.1"}


async def test_many_first_requests_wake_a_sleeping_project_once(
    server: Server, client: aiohttp.ClientSession
) -> None:
    key = server.values("one")["ANON_KEY"]
    server.command("wake", "one")
    server.command("sleep", "one")
    assert not is_locked(server.data("one") / "lock")
    assert server.status("one")["state"] == "asleep"
    before = server.awakenings("one")

    async with asyncio.timeout(_WAIT_S):
        answers = await asyncio.gather(
            *(client.get("/one/auth/v1/health", headers={"apikey": key}) for _ in range(40))
        )

    assert {answer.status for answer in answers} == {200}
    assert server.awakenings("one") == before + 1
    await until_note(client, "one", key)


async def test_the_crash_of_one_database_does_not_reach_the_other(
    server: Server, client: aiohttp.ClientSession
) -> None:
    keys = {name: server.values(name)["ANON_KEY"] for name in ("one", "two")}
    for name in keys:
        await until_note(client, name, keys[name])
    postgres = {name: _pid(server, name, "postgres") for name in keys}
    os.kill(postgres["one"], signal.SIGKILL)

    answers = []
    while _pid(server, "one", "postgres") == postgres["one"]:
        answers.append(await note(client, "two", keys["two"]))
    answers += [await note(client, "two", keys["two"]) for _ in range(50)]

    assert set(answers) == {(200, "two")}
    assert _pid(server, "two", "postgres") == postgres["two"]
    await until_note(client, "one", keys["one"])


async def test_a_noisy_project_is_limited_and_its_neighbour_is_answered(
    server: Server, client: aiohttp.ClientSession
) -> None:
    keys = {name: server.values(name)["ANON_KEY"] for name in ("one", "two")}
    for name in keys:
        await until_note(client, name, keys[name])
    server.command("set", "one", "--max-requests", "8")
    with psycopg.connect(server.values("one")["DB_URL"], autocommit=True) as connection:
        connection.execute("select pg_advisory_lock(%s)", (_KEY,))
        noisy = [asyncio.create_task(_call(client, keys["one"])) for _ in range(60)]
        await until(lambda: sum(task.done() for task in noisy) == 52)

        quiet = [await note(client, "two", keys["two"]) for _ in range(50)]
        statuses = [task.result() for task in noisy if task.done()]

        connection.execute("select pg_advisory_unlock(%s)", (_KEY,))
    await asyncio.gather(*noisy)
    server.command("set", "one", "--max-requests", "200")

    assert set(quiet) == {(200, "two")}
    assert statuses == [429] * 52
    assert server.status("one")["refused"] >= 52
    assert server.status("two")["refused"] == 0


async def test_a_realtime_socket_passes_and_is_counted(server: Server, client: aiohttp.ClientSession) -> None:
    key = server.values("two")["ANON_KEY"]
    await until_note(client, "two", key)
    async with client.ws_connect(f"/two/realtime/v1/websocket?apikey={key}&vsn=1.0.0") as socket:
        await socket.send_json({"topic": "realtime:room", "event": "phx_join", "payload": {}, "ref": "1"})
        async with asyncio.timeout(_WAIT_S):
            reply = await socket.receive_json()
        counted = server.status("two")["sockets"]

    assert (reply["event"], reply["payload"]["status"], counted) == ("phx_reply", "ok", 1)
    await until(lambda: server.status("two")["sockets"] == 0)


async def test_sessions_and_jobs_are_seen_before_a_project_sleeps(
    server: Server, client: aiohttp.ClientSession
) -> None:
    await until_note(client, "two", server.values("two")["ANON_KEY"])
    url = f"http://two.localhost:{server.port}"
    platform = PlatformProcess(find_project(ServerFolder(server.root), "two"), url)
    with psycopg.connect(server.values("two")["DB_URL"], autocommit=True) as connection:
        connection.execute("create extension if not exists pg_cron")
        connection.execute("select cron.schedule('yearly', '0 0 1 1 *', 'select 1')")
        busy = await look(platform)
    async with asyncio.timeout(_WAIT_S):
        while (idle := await look(platform)).busy or idle.due_at is None:
            await asyncio.sleep(0.1)

    assert "1 sessions of other programs" in busy.busy
    assert time.gmtime(idle.due_at)[1:5] == (1, 1, 0, 0)


async def test_projects_outlive_a_killed_server_and_the_next_one_finds_them(
    server: Server, client: aiohttp.ClientSession
) -> None:
    key = server.values("two")["ANON_KEY"]
    await until_note(client, "two", key)
    pid = server.state("two")["pid"]
    os.kill(json.loads((server.root / "server.json").read_text())["pid"], signal.SIGKILL)
    await until(lambda: not is_locked(server.root / "server.lock"))

    server.command("start", "--detach")

    assert server.status("two")["state"] == "awake"
    assert await note(client, "two", key) == (200, "two")
    assert server.state("two")["pid"] == pid


async def test_a_project_that_cannot_start_answers_503_and_says_why_to_its_operator_alone(
    server: Server, client: aiohttp.ClientSession
) -> None:
    server.command("add", "broken")
    with (server.root / "broken" / ".env").open("a") as file:
        file.write("HEADWATER_API_MAX_ROWS=many\n")

    async with client.get("/broken/rest/v1/") as answer:
        body = await answer.json()

    assert (answer.status, body["code"]) == (503, "project_unavailable")
    assert int(answer.headers["Retry-After"]) >= 1
    assert "HEADWATER_API_MAX_ROWS" not in json.dumps(body)
    assert "HEADWATER_API_MAX_ROWS" in server.status("broken")["reason"]
    assert (
        "HEADWATER_API_MAX_ROWS must be" in headwater("projects", "--root", str(server.root), "doctor").stdout
    )

    server.command("remove", "broken", "--delete-data", "--yes")
    async with client.get("/broken/rest/v1/") as gone:
        assert gone.status == 404
    assert (server.root / "broken" / ".env").exists()
    assert not server.data("broken").exists()


async def _call(client: aiohttp.ClientSession, key: str) -> int:
    headers: Mapping[str, str] = {"apikey": key}
    with contextlib.suppress(aiohttp.ClientError):
        async with client.post("/one/rest/v1/rpc/wait_in_line", json={}, headers=headers) as answer:
            await answer.read()
            return answer.status
    return 0


def _pid(server: Server, name: str, part: str) -> int:
    """Return the process of a part that runs, 0 while it does not."""
    for child in server.state(name)["children"]:
        if child["name"] == part and child["status"] == "running":
            return int(child["pid"])
    return 0
