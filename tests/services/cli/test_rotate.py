"""`headwater keys rotate` on real files."""

import json
import os
import stat
from pathlib import Path

import click
import pytest

from schemas.keys.key_rotation import RotationResult, RotationStep
from services.cli.rotation_process import rotate_file, summary


def kids(path: Path) -> list[str]:
    return [entry["kid"] for entry in json.loads(path.read_text())]


@pytest.fixture
def file(project_folder):
    path = project_folder.root / "keys.json"
    path.write_text(project_folder.run("keys", "--signing").stdout)
    return path


def test_three_runs_exchange_the_key_and_say_what_comes_next(project_folder, file):
    [old] = kids(file)
    said = []
    for count in (2, 2, 1):
        done = project_folder.run("keys", "rotate", "--keys", file)
        assert done.returncode == 0, done.stderr
        assert len(kids(file)) == count
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        said.append(done.stdout)

    [new] = kids(file)
    assert new != old
    assert all("Next: " in each and old in each and new in each for each in said)
    assert "20 minutes" in said[0]
    assert "auth.jwt_expiry" in said[1]
    assert "complete" in said[2]
    assert [each.name for each in project_folder.root.iterdir()] == ["keys.json"]


def test_a_link_stays_one_and_its_file_is_replaced(project_folder, file):
    link = project_folder.root / "link.json"
    link.symlink_to(file)

    assert project_folder.run("keys", "rotate", "--keys", link).returncode == 0
    assert link.is_symlink()
    assert len(kids(file)) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_file_keeps_its_owner(project_folder, file):
    os.chown(file, 12345, 23456)

    assert project_folder.run("keys", "rotate", "--keys", file).returncode == 0
    assert (file.stat().st_uid, file.stat().st_gid) == (12345, 23456)


@pytest.mark.parametrize(
    "content",
    [b"", b"[", b"[]", b"\xff", b"{}", b'[{"kty":"EC"}]', b'{"keys":7}', b"x" * (1024 * 1024 + 1)],
)
def test_a_file_that_is_malformed_is_refused_in_words_and_stays_as_it_is(tmp_path, capsys, content):
    path = tmp_path / "keys.json"
    path.write_bytes(content)

    with pytest.raises(click.exceptions.Exit) as exited:
        rotate_file(path)

    error = capsys.readouterr().err
    assert exited.value.exit_code == 2
    assert "cannot be used: " in error
    assert "It is as it was" in error
    assert [each.name for each in tmp_path.iterdir()] == ["keys.json"]
    assert path.read_bytes() == content


def test_a_file_that_is_not_there_is_refused_with_the_way_to_make_one(project_folder):
    done = project_folder.run("keys", "rotate", "--keys", "nowhere.json")

    assert done.returncode == 2
    assert "headwater keys --signing > nowhere.json" in done.stderr


def test_a_folder_is_refused(project_folder):
    assert "Is a directory" in project_folder.run("keys", "rotate", "--keys", project_folder.root).stderr


def test_help_tells_all_steps_and_how_long_to_wait(project_folder):
    help = project_folder.run("keys", "rotate", "--help").stdout

    for each in (
        "run 1",
        "run 2",
        "run 3",
        "20 minutes",
        "auth.jwt_expiry",
        "--keys FILE",
        "mode 600",
        "Exit codes",
    ):
        assert each in help
    assert "rotate" in project_folder.run("keys", "--help").stdout


def test_a_shared_secret_that_stops_signing_is_said_to_stay():
    said = summary(RotationResult(RotationStep.MOVED, "", "new (ES256)", ("legacy (HS256)",), is_last=True))

    assert "legacy (HS256) is a shared secret" in said
    assert "complete" in said
