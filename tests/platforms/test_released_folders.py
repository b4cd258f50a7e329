"""Data folders of earlier releases start under this version and have all that they had (`scripts/upgrade-fixture` makes them)."""

import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.supervisor.postgres.system_user import server_user
from tests.platform import Platform, free_port, headwater, state_of
from tests.platforms.upgrade_state import check
from tests.workers.database.server import OUTSIDE

pytestmark = [pytest.mark.process_group("released folders"), pytest.mark.timeout(300)]

_FOLDERS = sorted((Path(__file__).parents[1] / "fixtures" / "upgrades").glob("*.tar.xz"))


@pytest.fixture(params=_FOLDERS, ids=lambda path: path.name.partition(".")[0])
def unpacked(request: pytest.FixtureRequest) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="headwater-released-"))
    folder.chmod(0o755)  # the system user of the database passes through it
    with tarfile.open(request.param) as tar:
        tar.extractall(folder, filter="tar")
    if (user := server_user(lambda _: None)) is not None:
        for path in (folder / "data" / "postgres", *(folder / "data" / "postgres").rglob("*")):
            os.chown(path, user.uid, user.gid, follow_symlinks=False)
    yield folder
    headwater("stop", "--data", str(folder / "data"))
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.skipif(OUTSIDE is not None, reason="these folders are of the embedded server")
def test_a_folder_of_an_earlier_release_starts_and_is_whole(unpacked: Path) -> None:
    facts = json.loads((unpacked / "facts.json").read_text())
    data, port = unpacked / "data", free_port()
    where = ("--data", str(data), "--project", str(unpacked), "--port", str(port))

    for _ in range(2):  # the second time it is a folder of this version
        started = headwater("start", "--detach", *where)
        assert started.returncode == 0, f"{started.stdout}\n{started.stderr}"
        platform = Platform(data, port, *state_of(data))
        facts = check(platform.values, platform.psql, facts)
        stopped = headwater("stop", "--data", str(data))
        assert stopped.returncode == 0, stopped.stderr

    findings = json.loads(
        headwater("doctor", "--json", "--data", str(data), "--project", str(unpacked)).stdout
    )
    # Of a stopped platform the doctor looks at the usual ports, which others may have.
    of_data = [finding for finding in findings if not finding["title"].startswith("port of")]
    assert [finding for finding in of_data if finding["level"] == "error"] == []
