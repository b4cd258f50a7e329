"""`python -m workers`: what it says, and how it ends. Exit codes: `broker/processes/lifecycle.py`."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from schemas.settings.tree import DEVELOPMENT_JWT_SECRET
from tests.broker.server import running_server
from tests.workers.database.introspection_fixtures import fresh_database
from tests.workers.database.own_server import OwnServer
from workers import __main__ as module

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-P", "-m", "workers"]
SECRET = "a secret that must not be shown"


def environment(**names: str) -> dict[str, str]:
    """Give the environment of this process without settings of ours, and with these names."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("HEADWATER_")}
    return {**own, "PYTHONPATH": str(ROOT), **names}


def run(*words: str, **names: str) -> tuple[int, str, str]:
    """Give exit code, output and errors of a command that ends by itself."""
    done = subprocess.run(
        [*COMMAND, *words],
        env=environment(**names), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def said_by_main(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str, **names: str
) -> tuple[int, str]:
    """Run `main` in this process, as far as it goes without pools; give exit code and all that it said."""
    monkeypatch.setattr(sys, "argv", ["workers", *words])
    for name in {*os.environ, *names}:
        if name.startswith("HEADWATER_"):
            monkeypatch.delenv(name, raising=False)
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    try:
        code = module.main()
    except SystemExit as end:
        code = int(end.code or 0)
    told = capsys.readouterr()
    return code, told.out + told.err


@pytest.mark.parametrize("words", [("nonsense",), ("rest", "nonsense"), ("migrate", "REST")])
def test_an_unknown_pool_is_refused_with_the_known_ones(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = said_by_main(monkeypatch, capsys, *words)

    assert code == 2
    assert f"invalid choice: '{words[-1]}'" in said
    assert all(name in said for name in (*module.POOLS, *module.ALONE, "migrate"))


def test_without_a_name_the_command_says_that_one_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = said_by_main(monkeypatch, capsys)

    assert code == 2
    assert "the following arguments are required: names" in said


def test_help_says_what_can_be_started() -> None:
    code, out, errors = run("--help")

    assert (code, errors) == (0, "")
    assert "Start Headwater's worker pools, or run one of the workers' commands." in out
    assert all(name in out for name in (*module.POOLS, *module.ALONE, "migrate"))


def test_every_pool_names_a_module_that_serves_it() -> None:
    for name in (*module.POOLS.values(), *module.ALONE.values()):
        assert (ROOT / Path(*name.split("."))).with_suffix(".py").is_file()


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"HEADWATER_DB_POOL_SIZE": SECRET}, "HEADWATER_DB_POOL_SIZE must be a whole number above 0"),
        ({"HEADWATER_GATEWAY_TRUSTED_PROXIES": "here"}, "HEADWATER_GATEWAY_TRUSTED_PROXIES has 'here', which is no network"),
        ({"HEADWATER_API_JWT_SECRET": SECRET}, "HEADWATER_API_JWT_SECRET must have 32 bytes or more"),
        ({"HEADWATER_CONFIG": "/no/such/config.toml"}, "/no/such/config.toml cannot be read: No such file or directory"),
        ({"HEADWATER_CONFIG": "/"}, "/ cannot be read: Is a directory"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used_end_the_process_with_a_sentence(
    names: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = said_by_main(monkeypatch, capsys, "rest", **names)

    assert code == 2
    assert told.startswith("headwater: ")
    assert told.count("\n") == 1
    assert said in told
    assert SECRET not in told


def test_the_file_that_the_environment_names_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[api]\nmax_rows = 'many'")

    code, told = said_by_main(monkeypatch, capsys, "rest", HEADWATER_CONFIG=str(config))

    assert (code, told) == (2, f"headwater: {config}: api.max_rows must be a whole number\n")


def test_a_database_that_stays_as_it_is_needs_no_address_for_its_migrations(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said_by_main(monkeypatch, capsys, "migrate", HEADWATER_DB_BOOTSTRAP="false") == (0, "")

    code, told = said_by_main(monkeypatch, capsys, "migrate")

    assert code != 0
    assert told == "headwater: migrate needs HEADWATER_MIGRATE_URL or HEADWATER_DB_URL\n"


def test_a_pool_without_usable_addresses_ends_as_with_other_bad_settings() -> None:
    code, _, errors = run("rest")
    lines = [json.loads(line) for line in errors.splitlines()]
    malformed, _, said = run(
        "rest", HEADWATER_BROKER_URL="http://u:hidden@h", HEADWATER_DB_URL="postgresql://127.0.0.1/x"
    )

    assert (code, malformed) == (2, 2)
    assert next((line["kind"], line.get("reason")) for line in lines) == (
        "SettingsRefused",
        "a worker needs broker.url and db.url (HEADWATER_BROKER_URL and HEADWATER_DB_URL)",
    )
    assert said.startswith("headwater: HEADWATER_BROKER_URL must be nats://[user:password@]host[:port]")
    assert "hidden" not in said


@contextlib.asynccontextmanager
async def started(*words: str, **names: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    """Start the command as the supervisor does; give it with the reading end of its readiness pipe."""
    reading, writing = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *words,
        env=environment(HEADWATER_READY_FD=str(writing), **names),
        cwd=ROOT, pass_fds=(writing,), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    os.close(writing)
    try:
        yield process, reading
    finally:
        os.close(reading)
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def test_a_pool_says_when_it_is_ready_and_ends_in_order_when_told(server: OwnServer) -> None:
    async with running_server() as nats, fresh_database(server.url, "create table items (id int)") as url:
        names = {"HEADWATER_BROKER_URL": nats.url, "HEADWATER_DB_URL": url, "HEADWATER_API_SCHEMAS": "public"}
        async with started("rest", **names) as (process, reading):
            async with asyncio.timeout(30):
                ready = await asyncio.to_thread(os.read, reading, 100)
            process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(30):
                out, errors = await process.communicate()

    kinds = [json.loads(line)["kind"] for line in errors.decode().splitlines()]
    assert ready.startswith(b"ready\n")  # the first sign of life may come with it
    assert (process.returncode, out) == (0, b"")
    assert kinds == ["CatalogReloaded", "ProcessReady", "ProcessDraining", "ProcessEnded"]
    assert "tester:" not in errors.decode()
    assert DEVELOPMENT_JWT_SECRET not in errors.decode()
