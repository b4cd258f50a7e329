"""Two platforms on one outside database: the second is refused by the name of the first, which serves on, until that one ends."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platform import Platform, headwater, state_of
from tests.ports import free_port
from tests.workers.database.server import Server, temporary_server

pytestmark = [pytest.mark.process_group("outside database"), pytest.mark.timeout(300)]

_PARTS = ("--pool", "rest", "--edge", "gateway")


@pytest.fixture
def server() -> Iterator[Server]:
    with temporary_server(settings={"max_connections": "60"}) as running:
        yield running


@pytest.fixture
def folders() -> Iterator[tuple[Path, Path]]:
    folder = Path(tempfile.mkdtemp(prefix="headwater-outside-"))
    one, other = folder / "one", folder / "other"
    try:
        for each in (one, other):
            each.mkdir()
            (each / ".env").write_text(f"HEADWATER_DB_AUTHENTICATOR_PASSWORD={each.name}-password\n")
        yield one, other
    finally:
        for each in (one, other):
            headwater("stop", "--data", str(each / "data"))
        shutil.rmtree(folder, ignore_errors=True)


def _start(folder: Path, url: str, code: int = 0, **environment: str) -> str:
    where = ("--data", str(folder / "data"), "--project", str(folder), "--port", str(free_port()))
    done = headwater("start", "--detach", "--database-url", url, *where, *_PARTS, environment=environment)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def _running(folder: Path) -> Platform:
    pid, values = state_of(folder / "data")
    return Platform(folder / "data", 0, pid, values)


def test_a_second_platform_is_refused_while_the_first_works(
    server: Server, folders: tuple[Path, Path]
) -> None:
    one, other = folders
    superuser = server.url()
    _start(one, superuser)
    first = _running(one)
    first.psql("create table public.here (id int); grant select on public.here to anon")
    first.wait_for_catalog("here")

    words = _start(other, superuser, code=1)

    assert f"in {one / 'data'} on " in words
    assert "works with this database" in words
    assert first.get("/rest/v1/here")[0] == 200
    # Its data folder is moved while it is stopped, and starts with another password: it is the same platform.
    assert first.command("stop").returncode == 0
    moved = one.with_name("moved")
    (one / "data").rename(other / "data.of_one")
    shutil.rmtree(other / "data", ignore_errors=True)
    one.rename(moved)
    (other / "data.of_one").rename(moved / "data")
    _start(moved, superuser, HEADWATER_DB_AUTHENTICATOR_PASSWORD="renewed-password")
    os.kill(_running(moved).pid, signal.SIGKILL)  # a crash of the first
    assert headwater("stop", "--data", str(moved / "data")).returncode == 0  # what it left is stopped
    _start(other, superuser)
    assert _running(other).get("/rest/v1/here")[0] == 200


def test_a_role_without_the_rights_is_told_what_to_set_and_that_is_obeyed(
    server: Server, folders: tuple[Path, Path]
) -> None:
    one, _ = folders
    _start(one, server.url())
    assert _running(one).command("stop").returncode == 0
    url = server.url("postgres", "postgres")

    words = _start(one, url, code=1)

    assert "role postgres is no superuser (it lacks SUPERUSER" in words
    assert "HEADWATER_MIGRATE_URL" in words
    _start(one, url, HEADWATER_MIGRATE_URL=server.url())
    assert _running(one).get("/rest/v1/")[0] == 200
