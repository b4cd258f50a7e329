"""What the kernel tells of a file system, and how it makes everything durable."""

import os
import sys
from pathlib import Path

import pytest

from broker.blobs import file_systems
from broker.blobs.file_systems import overwrites_in_place, sync_file_system

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the calls exist on Linux alone")


def test_only_local_file_systems_that_overwrite_in_place_count(tmp_path: Path) -> None:
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    kinds = {
        point: kind for _, point, kind, *_ in mounts
    }  # the last mount of a point is the one that is seen
    for point, kind in kinds.items():
        if os.access(point, os.X_OK) and kind != "autofs":
            assert overwrites_in_place(Path(point)) == (kind in ("ext2", "ext3", "ext4", "xfs")), (
                point,
                kind,
            )
    assert not overwrites_in_place(tmp_path / "missing")


def test_a_kernel_that_reports_no_errors_does_not_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for release, is_enough in (("5.7.19-generic", False), ("4.19.0", False), ("unknown", False)):
        monkeypatch.setattr(file_systems.platform, "release", lambda release=release: release)
        assert overwrites_in_place(tmp_path) == is_enough


def test_a_file_system_is_synced(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    sync_file_system(descriptor)
    os.close(descriptor)

    with pytest.raises(OSError, match="Bad file descriptor"):
        sync_file_system(descriptor)
