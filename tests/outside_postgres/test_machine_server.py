"""`headwater start --postgres`: the supervisor runs another Postgres of this machine as it runs the embedded one."""

import json
import shutil
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


def test_the_machines_own_server_is_made_served_compared_and_run_again(project: Path) -> None:
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

    codes = [done[0] for done in (started, made, branched, again, plain)]
    assert codes == [0, 0, 0, 0, 0], (started, made, branched, again, plain)
    assert rows == [{"id": 7}]
    assert "create table public.rivers" in difference[1]
    assert embedded[0] == 2
    assert "and this is Postgres 18. Dump it with the older version" in embedded[1]
