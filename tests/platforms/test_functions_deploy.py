"""Functions brought to a running platform from a developer's folder by the command line."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from services.cli.main import main
from tests.child_environment import environment_of
from tests.platform import Platform, headwater, platform
from tests.platforms.conftest import pid_of
from tests.platforms.test_functions import wait_for


@pytest.fixture(scope="module")
def served() -> Iterator[Platform]:
    """A platform whose project has no functions: its worker waits for the first one."""
    with platform() as one:
        yield one


class Developer:
    """A project elsewhere, and the command line in it."""

    def __init__(self, folder: Path, served: Platform) -> None:
        self.folder = folder
        self.environment = {
            "HEADWATER_URL": served.url,
            "HEADWATER_SERVICE_KEY": served.values["SERVICE_ROLE_KEY"],
        }

    def run(self, *words: str, code: int = 0) -> str:
        """Run a command in this process: most of a command's time is the start of its own."""
        done = CliRunner(env=self.environment).invoke(main, [*words, "--project", str(self.folder)])
        assert done.exit_code == code, done.output
        return done.output

    def run_apart(self, *words: str) -> str:
        """Run a command as users do."""
        done = headwater(*words, "--project", str(self.folder), environment=self.environment)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def write(self, name: str, text: str) -> None:
        file = self.folder / "supabase" / "functions" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def developer(tmp_path: Path, served: Platform) -> Developer:
    return Developer(tmp_path, served)


@contextlib.contextmanager
def following(developer: Developer, *words: str) -> Iterator[list[str]]:
    """Run a command that goes on, and give the lines that it has shown until now."""
    running = subprocess.Popen(
        [sys.executable, "-P", "-m", "services.cli.main", *words],
        stdout=subprocess.PIPE, text=True, env={**os.environ, **developer.environment, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    seen: list[str] = []
    assert running.stdout is not None
    reader = threading.Thread(target=lambda out: seen.extend(out), args=(running.stdout,), daemon=True)
    reader.start()
    try:
        yield seen
    finally:
        running.terminate()
        running.wait(30)
        reader.join(30)
        running.stdout.close()


def answer(served: Platform, name: str) -> tuple[int, bytes]:
    return served.get(f"/functions/v1/{name}")


def test_a_platform_without_functions_is_well(served: Platform) -> None:
    assert answer(served, "_internal/health") == (200, b'{"message":"ok"}')
    key = {"Authorization": f"Bearer {served.values['SERVICE_ROLE_KEY']}"}
    assert served.get("/functions/v1/_internal/health", key) == (200, b'{"message":"ok"}')
    command = psutil.Process(pid_of(served, "functions")).cmdline()
    assert "workers.functions.placeholder" in command  # who asks whether it is well does not start it


def test_the_first_deployment_wakes_the_worker_and_versions_follow(
    served: Platform, developer: Developer
) -> None:
    assert answer(served, "hello")[0] == 404
    developer.run("init")
    assert "Entered [functions.hello]" in developer.run("functions", "new", "hello")
    assert "already there" in developer.run("functions", "new", "hello", code=2)

    assert "version 1" in developer.run("functions", "deploy", "hello")
    assert answer(served, "hello") == (200, b'{"message":"Hello world!"}')

    developer.write("_shared/text.ts", "export const text = 'two';")
    developer.write(
        "hello/index.ts", "import { text } from '../_shared/text.ts'; Deno.serve(() => new Response(text));"
    )
    assert "version 2" in developer.run("functions", "deploy")
    assert answer(served, "hello") == (200, b"two")

    assert "version 1" in developer.run("functions", "deploy", "hello", "--rollback")
    assert answer(served, "hello")[1].startswith(b'{"message"')
    assert "version 2" in developer.run("functions", "deploy", "hello", "--rollback", "--version", "2")

    listed = json.loads(developer.run("functions", "list", "-o", "json"))
    assert [(each["name"], each["version"], each["status"]) for each in listed] == [("hello", 2, "deployed")]
    assert developer.run("functions", "list", "hello").startswith("*    2")
    assert developer.run("functions", "list", "nosuch") == "No version of nosuch is deployed.\n"

    developer.write("hello/index.ts", "Deno.serve((")
    assert "SyntaxError" in developer.run("functions", "deploy", "hello", code=1)
    assert answer(served, "hello") == (200, b"two")

    developer.run("functions", "delete", "hello")
    assert answer(served, "hello")[0] == 404
    assert "no such deployed function" in developer.run("functions", "delete", "hello", code=1)


def test_a_second_worker_has_what_is_deployed(served: Platform, developer: Developer) -> None:
    developer.write("shared/index.ts", "Deno.serve(() => new Response(Deno.env.get('SB_EXECUTION_ID')));")
    developer.run("functions", "deploy", "shared")
    environment = environment_of(served, "functions")
    second = subprocess.Popen(
        [sys.executable, "-P", "-m", "workers", "functions"],
        env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for(lambda: len({answer(served, "shared") for _ in range(20)}) == 2)

        developer.write("shared/index.ts", "Deno.serve(() => new Response('new'));")
        developer.run("functions", "deploy", "shared")
        wait_for(lambda: {answer(served, "shared") for _ in range(20)} == {(200, b"new")})
    finally:
        second.terminate()
        assert second.wait(30) == 0
    developer.run("functions", "delete", "shared")


def test_secrets_are_set_listed_and_unset(served: Platform, developer: Developer) -> None:
    developer.write("tells/index.ts", "Deno.serve(() => new Response(Deno.env.get('GREETING') ?? 'none'));")
    developer.run("functions", "deploy", "tells")
    (developer.folder / "more.env").write_text('GREETING="hi there"\nOTHER=x\n')

    developer.run("secrets", "set", "--env-file", str(developer.folder / "more.env"))
    wait_for(lambda: answer(served, "tells") == (200, b"hi there"))
    listed = developer.run("secrets", "list")
    assert "GREETING" in listed
    assert "hi there" not in listed
    assert "must not begin" in developer.run("secrets", "set", "SUPABASE_X=1", code=2)
    assert "NAME=VALUE" in developer.run("secrets", "set", "nothing", code=2)

    developer.run("secrets", "unset", "GREETING", "OTHER")
    wait_for(lambda: answer(served, "tells") == (200, b"none"))


def test_logs_show_what_a_function_printed(served: Platform, developer: Developer) -> None:
    developer.write(
        "talks/index.ts", "Deno.serve(() => { console.warn('said so'); return new Response(); });"
    )
    developer.run("functions", "deploy", "talks")
    answer(served, "talks")

    wait_for(lambda: "said so" in developer.run("functions", "logs", "talks"))


def test_logs_follow_until_they_are_left(served: Platform, developer: Developer) -> None:
    developer.write(
        "goes/index.ts", "Deno.serve((req) => { console.log(`asked ${req.url}`); return new Response(); });"
    )
    developer.run("functions", "deploy", "goes")
    with following(developer, "functions", "logs", "-f", "-n", "0", "goes") as seen:
        wait_for(lambda: answer(served, "goes/again") and any("goes/again" in line for line in seen))


def test_the_schedule_of_a_deployed_function_is_followed_until_it_is_deleted(
    served: Platform, developer: Developer
) -> None:
    config = developer.folder / "supabase" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[functions.ticks]\nschedule = "1 seconds"\nverify_jwt = false\n')
    source = "const seen: string[] = []; Deno.serve(async (req) => { if (req.method === 'POST') seen.push((await req.json()).scheduled_at); return Response.json(seen); });"
    developer.write("ticks/index.ts", source)
    developer.run("functions", "deploy", "ticks")

    wait_for(lambda: len(json.loads(answer(served, "ticks")[1])) >= 2)
    moments = json.loads(answer(served, "ticks")[1])
    assert len(set(moments)) == len(moments)
    assert "1 seconds" in developer.run("functions", "list")

    config.write_text('[functions.ticks]\nschedule = "every now and then"\n')
    assert "invalid schedule" in developer.run("functions", "deploy", "ticks", code=1)
    config.write_text("[functions.ticks]\nverify_jwt = false\n")
    developer.run("functions", "deploy", "ticks")
    assert json.loads(developer.run("functions", "list", "-o", "json"))[-1]["schedule"] == ""
    config.write_text('[functions.ticks.queue]\nqueue = "ticks"\n')
    developer.run("functions", "deploy", "ticks")
    assert "queue ticks" in developer.run("functions", "list")
    problem = "ticks does not consume ticks: there is no queue ticks"
    wait_for(lambda: problem in served.command("doctor").stdout)
    assert "version 1" in developer.run("functions", "deploy", "ticks", "--rollback", "--version", "1")
    wait_for(lambda: len(json.loads(answer(served, "ticks")[1])) >= 1)
    developer.run("functions", "delete", "ticks")


def test_serve_shows_lines_and_needs_no_token_while_it_runs(served: Platform, developer: Developer) -> None:
    developer.write(
        "guarded/index.ts",
        "Deno.serve(() => { console.log('called'); return new Response(Deno.env.get('OWN')); });",
    )
    developer.run("functions", "deploy", "guarded")
    (developer.folder / "own.env").write_text("OWN=mine\n")
    nobody = {"apikey": ""}
    assert served.get("/functions/v1/guarded", nobody)[0] == 401

    own = ("--env-file", str(developer.folder / "own.env"), "--data", str(served.data))
    with following(developer, "functions", "serve", "--no-verify-jwt", *own) as seen:
        wait_for(lambda: served.get("/functions/v1/guarded", nobody) == (200, b"mine"))
        wait_for(
            lambda: served.get("/functions/v1/guarded", nobody) and any("called" in line for line in seen)
        )

    wait_for(lambda: served.get("/functions/v1/guarded", nobody)[0] == 401)


def test_what_it_takes_from_deploy_to_live_is_shown(
    served: Platform, developer: Developer, capsys: pytest.CaptureFixture[str]
) -> None:
    took: list[float] = []
    for number in range(2):
        developer.write("timed/index.ts", f"Deno.serve(() => new Response('{number}'));")
        began = time.monotonic()
        developer.run_apart("functions", "deploy", "timed")
        wait_for(lambda number=number: answer(served, "timed") == (200, str(number).encode()))  # type: ignore[misc]  # its default binds the number
        took.append(time.monotonic() - began)

    with capsys.disabled():
        print(f"\ndeploy to live, with the command's own start: {min(took):.2f} to {max(took):.2f} s")
    assert len(took) == 2
