"""The file of the sealing key: made once, private, read as the setting is, and refused when it is damaged."""

import os
import stat

import pytest

from services.supervisor.data_folder.sealing_key import sealing_key_text, write_sealing_key
from services.supervisor.errors import StartRefused


def test_the_key_is_made_once_and_private(folder):
    first = sealing_key_text(folder)

    path = folder.path / "sealing.key"
    assert len(first) == 64
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sealing_key_text(folder) == first


def test_the_key_is_on_the_disk_before_it_has_its_name(folder, monkeypatch):
    """A power failure must not leave an empty file in place of the key that has sealed something."""
    synced, path, fsync = [], folder.path / "sealing.key", os.fsync

    def record(descriptor):
        fsync(descriptor)
        status = os.fstat(descriptor)
        synced.append("folder" if stat.S_ISDIR(status.st_mode) else (status.st_size, path.exists()))

    monkeypatch.setattr(os, "fsync", record)
    sealing_key_text(folder)

    assert synced == [(65, False), "folder"]


def test_a_restored_folder_opens_what_the_used_one_and_the_archive_sealed(folder, tmp_path):
    used = tmp_path / "used"
    used.mkdir()
    (used / "sealing.key").write_text(f"{'n' * 32}\n{'o' * 32}\n")

    write_sealing_key(folder, f"{'o' * 32}\n{'a' * 32}\n", used)

    assert sealing_key_text(folder) == ",".join(letter * 32 for letter in "noa")


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe"])
def test_a_damaged_key_stops_the_start_and_is_not_replaced(folder, content):
    path = folder.path / "sealing.key"
    path.write_bytes(content)

    with pytest.raises(StartRefused, match="bring back the file"):
        sealing_key_text(folder)
    assert path.read_bytes() == content
