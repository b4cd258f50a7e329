import os

import pytest

from services.supervisor.data_folder.folder import (
    DataFolder,
    create_data_folder,
    database_password,
    ensure_passwords,
    is_locked,
    lock_folder,
    read_ports,
    write_private,
)
from services.supervisor.errors import StartRefused
from tests.full_disk import full_disk


def test_a_second_lock_is_refused_and_names_the_holder(folder):
    held = lock_folder(folder)

    with pytest.raises(StartRefused, match=rf"locked.*process {os.getpid()}.*headwater stop") as refused:
        lock_folder(folder)
    assert refused.value.exit_code == 2
    assert is_locked(folder.lock)

    os.close(held)
    assert not is_locked(folder.lock)


def test_a_lock_file_that_is_missing_is_not_locked(tmp_path):
    assert not is_locked(tmp_path / "lock")


def test_passwords_are_made_once_and_kept_private(folder):
    first, new = ensure_passwords(folder, ["a", "b"])
    again, none = ensure_passwords(folder, ["a", "b"])

    assert new == ["a", "b"]
    assert none == []
    assert first == again
    assert first["a"] != first["b"]
    assert folder.passwords.stat().st_mode & 0o777 == 0o600


def test_a_further_password_leaves_the_others(folder):
    before, _ = ensure_passwords(folder, ["a"])
    after, new = ensure_passwords(folder, ["a", "b"])

    assert after["a"] == before["a"]
    assert new == ["b"]


@pytest.mark.parametrize("content", [None, b"{", b'{"nats": "x"}'])
def test_a_password_of_the_database_that_was_lost_is_not_made_by_a_command_beside_it(folder, content):
    """The next start sets a new one in the database, because it finds none in the file."""
    if content is not None:
        folder.passwords.write_bytes(content)

    with pytest.raises(StartRefused, match="start it again"):
        database_password(folder)
    assert ensure_passwords(folder, ["database"])[1] == ["database"]
    assert database_password(folder) == ensure_passwords(folder, ["database"])[0]["database"]


def test_a_new_disk_can_be_the_data_folder(tmp_path):
    (tmp_path / "disk" / "lost+found").mkdir(parents=True)

    assert create_data_folder(tmp_path / "disk").logs.is_dir()


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    write_private(tmp_path / "a", b"old")
    with full_disk(), pytest.raises(OSError, match="too large"):
        write_private(tmp_path / "a", b"new")

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"old")]


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(StartRefused, match=r"cannot be used.*--data"):
        create_data_folder(tmp_path / "file" / "data")


def test_ports_of_a_broken_file_are_none(tmp_path):
    (tmp_path / "ports.json").write_text("{")

    assert read_ports(DataFolder(tmp_path)) == {}
