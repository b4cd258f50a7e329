"""`headwater start --postgres`: the supervisor runs another Postgres of this machine as it runs the embedded one."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platform import headwater, state_of
from tests.workers.database.server import OUTSIDE

pytestmark = [
    pytest.mark.skipif(OUTSIDE is None, reason="TEST_POSTGRES names no other Postgres"),
    pytest.mark.process_group("outside postgres"),
    pytest.mark.timeout(300),
]
_TRUSTED = {"HEADWATER_DB_TRUSTED_PROJECT": "true"}  # Postgres 15 is refused without it
_AFTER = """
select (select id from public.rivers), rolsuper, (select count(*) from desk.notes), (
  select relowner::regrole from pg_class where oid = 'desk.notes'::regclass)
from pg_roles where rolname = 'postgres'
"""


@pytest.fixture
def project() -> Iterator[Path]:
    """The folder of a project that the server's user may pass; its platform is stopped."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-test-"))
    folder.chmod(0o711)
    yield folder
    run("stop", folder)
    shutil.rmtree(folder, ignore_errors=True)


def run(command: str, project: Path, *words: str) -> tuple[int, str]:
    place = ("--data", str(project / ".headwater"))
    done = headwater(*command.split(), *place, *words, environment=_TRUSTED)
    return done.returncode, done.stdout + done.stderr


def killed_upgrade(project: Path, line: str) -> str:
    """Run the upgrade, kill it when it prints a line that begins so, and return the version of the database in use."""
    data = project / ".headwater"
    command = [sys.executable, "-m", "services.cli.main", "upgrade-postgres", "--data", str(data)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **_TRUSTED}
    ) as running:
        assert running.stdout is not None
        assert any(text.startswith(line) for text in running.stdout), f"it never came to '{line}'"
        running.kill()
    return (data / "postgres/data/PG_VERSION").read_text().strip()


def test_the_machines_own_server_is_made_served_compared_run_again_and_upgraded(project: Path) -> None:
    start = ("--project", str(project), "--port", "0", "--detach")
    started = run("start", project, *start, "--postgres", str(OUTSIDE))
    made = run(
        "psql",
        project,
        "-c",
        "create table public.rivers (id int primary key); insert into public.rivers values (7)",
    )
    _, values = state_of(project / ".headwater")
    request = urllib.request.Request(
        f"{values['API_URL']}/rest/v1/rivers", headers={"apikey": values["SERVICE_ROLE_KEY"]}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        rows = json.load(answer)
    difference = run("db diff", project)
    branched = run("branch create copy", project)
    run("stop", project)
    embedded = run("start", project, *start, "--postgres", "embedded")
    again = run("start", project, *start, "--postgres", str(OUTSIDE))
    run("stop", project)
    plain = run("start", project, *start)

    hostile = run(
        "psql", project, "-v", "ON_ERROR_STOP=1", "-f", str(Path(__file__).with_name("hostile.sql"))
    )
    run("stop", project)
    version = (project / ".headwater/postgres/data/PG_VERSION").read_text().strip()
    after_kills = {killed_upgrade(project, line) for line in ("Copying roles", "Copying database postgres")}
    upgraded = run("upgrade-postgres", project)
    on_new = run("start", project, *start)
    rows_after = run("psql", project, "-A", "-t", "-c", _AFTER)
    repeated = run("upgrade-postgres", project)

    codes = [done[0] for done in (started, made, branched, again, plain)]
    assert codes == [0, 0, 0, 0, 0], (started, made, branched, again, plain)
    assert rows == [{"id": 7}]
    assert "create table public.rivers" in difference[1]
    assert embedded[0] == 2
    assert "and this is Postgres 18. Bring it to this version with `headwater upgrade-postgres" in embedded[1]
    assert hostile[0] == 0, hostile
    assert after_kills == {version}
    assert (upgraded[0], on_new[0], rows_after) == (0, 0, (0, "7|f|2|clerk\n")), (upgraded, on_new)
    assert (project / ".headwater/postgres/data/PG_VERSION").read_text().strip() == "18"
    assert [
        path.name.split("-")[2] for path in (project / ".headwater/postgres").glob("data-postgres-*")
    ] == [version]
    assert not (project / ".headwater/postgres/upgrading").exists()
    assert repeated[0] == 2
    assert "a platform runs in it" in repeated[1]
