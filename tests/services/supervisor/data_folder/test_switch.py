"""A restored data folder takes the place of the one in use, which stays beside it."""

import os
from pathlib import Path

import pytest

from services.supervisor.data_folder.folder import DataFolder, lock_folder
from services.supervisor.data_folder.switch import switch_folders
from services.supervisor.errors import StartRefused

NOW = 1_795_400_000.0


def _folder(path: Path, mark: str) -> DataFolder:
    folder = DataFolder(path)
    (folder.postgres / "data").mkdir(parents=True)
    (folder.postgres / "data" / "mark").write_text(mark)
    folder.lock.touch()
    return folder


def _mark(path: Path) -> str:
    return (path / "postgres" / "data" / "mark").read_text()


def test_the_folders_are_exchanged_and_the_ports_stay(tmp_path: Path) -> None:
    used, restored = _folder(tmp_path / "used", "old"), _folder(tmp_path / "restored", "new")
    used.ports.write_text('{"api": 1}')

    kept = switch_folders(used, restored, NOW)

    assert kept == tmp_path / "used-before-20261123T021320Z"
    assert (_mark(used.path), _mark(kept)) == ("new", "old")
    assert used.ports.read_text() == '{"api": 1}'
    assert not restored.path.exists()


def test_branches_stay_with_the_path(tmp_path: Path) -> None:
    used, restored = _folder(tmp_path / "used", "old"), _folder(tmp_path / "restored", "new")
    (used.path / "branches" / "preview").mkdir(parents=True)

    kept = switch_folders(used, restored, NOW)

    assert kept is not None
    assert (used.path / "branches" / "preview").is_dir()
    assert not (kept / "branches").exists()


def test_a_lost_folder_is_replaced(tmp_path: Path) -> None:
    used, restored = DataFolder(tmp_path / "used"), _folder(tmp_path / "restored", "new")

    assert switch_folders(used, restored, NOW) is None
    assert _mark(used.path) == "new"


def test_homes_outside_point_back_to_the_folders(tmp_path: Path) -> None:
    used, restored = _folder(tmp_path / "used", "old"), _folder(tmp_path / "restored", "new")
    for folder, name in ((used, "a"), (restored, "b")):
        home = tmp_path / "homes" / name
        home.mkdir(parents=True)
        (home / "owner").write_text(f"{folder.path}\n")
        folder.cluster_pointer.write_text(f"{home}\n")

    kept = switch_folders(used, restored, NOW)

    assert (tmp_path / "homes" / "a" / "owner").read_text() == f"{kept}\n"
    assert (tmp_path / "homes" / "b" / "owner").read_text() == f"{used.path}\n"


def test_a_running_platform_and_a_folder_without_a_database_are_refused(tmp_path: Path) -> None:
    used, restored = _folder(tmp_path / "used", "old"), _folder(tmp_path / "restored", "new")
    empty = DataFolder(tmp_path / "empty")
    (empty.path / "logs").mkdir(parents=True)

    with pytest.raises(StartRefused, match="no restored data folder"):
        switch_folders(used, empty, NOW)
    lock = lock_folder(used)
    try:
        with pytest.raises(StartRefused, match="A platform runs in"):
            switch_folders(used, restored, NOW)
    finally:
        os.close(lock)
    assert (_mark(used.path), _mark(restored.path)) == ("old", "new")
