"""The key pair of the S3 endpoint that a start makes, keeps, and shows."""

import json
import os
from pathlib import Path

import pytest

from services.cli.s3_pair import s3_values, with_s3_pair
from services.supervisor.data_folder.folder import DataFolder, lock_folder
from services.supervisor.errors import StartRefused
from services.supervisor.processes.plan import PartSelection, select_parts
from services.supervisor.project.settings import Project, load_project

WHOLE = PartSelection()
OWN = {"S3_PROTOCOL_ACCESS_KEY_ID": "own-id", "S3_PROTOCOL_ACCESS_KEY_SECRET": "own-secret"}


def project(root: Path, **environment: str) -> Project:
    return load_project(root, None, None, {}, environment)


def pair(found: Project) -> tuple[str, str]:
    own = found.settings.storage.s3_protocol
    assert own.access_key_id
    assert own.secret_access_key
    return own.access_key_id.reveal(), own.secret_access_key.reveal()


def test_a_first_start_makes_a_pair_and_later_ones_keep_it(tmp_path: Path) -> None:
    first = with_s3_pair(project(tmp_path), WHOLE)
    second = with_s3_pair(project(tmp_path), WHOLE)
    data = first.data

    assert pair(first) == pair(second)
    assert first.environment["HEADWATER_STORAGE_S3_PROTOCOL_ACCESS_KEY_ID"] == pair(first)[0]
    assert first.environment["HEADWATER_STORAGE_S3_PROTOCOL_SECRET_ACCESS_KEY"] == pair(first)[1]
    assert s3_values(data, {"API_URL": "http://x"}) == {
        "STORAGE_S3_URL": "http://x/storage/v1/s3",
        "S3_PROTOCOL_ACCESS_KEY_ID": pair(first)[0],
        "S3_PROTOCOL_ACCESS_KEY_SECRET": pair(first)[1],
        "S3_PROTOCOL_REGION": "us-east-1",
    }
    for name in ("passwords.json", "s3.json"):
        assert (data / name).stat().st_mode & 0o077 == 0


def test_two_platforms_have_different_pairs(tmp_path: Path) -> None:
    found = set()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        found.add(pair(with_s3_pair(project(tmp_path / name), WHOLE)))

    assert len(found) == 2


def test_the_pair_of_the_settings_is_used_and_shown(tmp_path: Path) -> None:
    with_s3_pair(project(tmp_path), WHOLE)
    found = with_s3_pair(project(tmp_path, **OWN), WHOLE)

    assert pair(found) == ("own-id", "own-secret")
    assert s3_values(found.data, {})["S3_PROTOCOL_ACCESS_KEY_ID"] == "own-id"
    assert "own-id" not in (found.data / "passwords.json").read_text()
    assert with_s3_pair(project(tmp_path), WHOLE).settings.storage.s3_protocol.access_key_id is not None
    assert s3_values(found.data, {})["S3_PROTOCOL_ACCESS_KEY_ID"] != "own-id"


def test_a_part_of_a_platform_makes_none(tmp_path: Path) -> None:
    found = with_s3_pair(project(tmp_path), select_parts((), ("storage",)))

    assert found.settings.storage.s3_protocol.access_key_id is None
    assert s3_values(found.data, {}) == {}
    assert pair(with_s3_pair(project(tmp_path, **OWN), select_parts((), ("storage",)))) == (
        "own-id",
        "own-secret",
    )


@pytest.mark.parametrize("name", ["HEADWATER_STORAGE_ENABLED", "S3_PROTOCOL_ENABLED"])
def test_what_is_switched_off_has_none(tmp_path: Path, name: str) -> None:
    with_s3_pair(project(tmp_path), WHOLE)
    found = with_s3_pair(project(tmp_path, **{name: "false"}), WHOLE)

    assert found.settings.storage.s3_protocol.access_key_id is None
    assert s3_values(found.data, {}) == {}


def test_what_runs_keeps_its_own(tmp_path: Path) -> None:
    found = with_s3_pair(project(tmp_path), WHOLE)
    before = (found.data / "s3.json").read_bytes()
    lock = lock_folder(DataFolder(found.data))

    with pytest.raises(StartRefused):
        with_s3_pair(project(tmp_path, **OWN), WHOLE)

    assert (found.data / "s3.json").read_bytes() == before
    os.close(lock)


def test_a_start_that_is_refused_leaves_no_folder(tmp_path: Path) -> None:
    exposed = project(tmp_path, HEADWATER_GATEWAY_HOST="0.0.0.0")

    with pytest.raises(StartRefused):
        with_s3_pair(exposed, WHOLE)

    assert not exposed.data.exists()


def test_a_note_that_cannot_be_read_shows_nothing(tmp_path: Path) -> None:
    (tmp_path / "s3.json").write_text(json.dumps({"access_key_id": 1}))

    assert s3_values(tmp_path, {}) == {}
