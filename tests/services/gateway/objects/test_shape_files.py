"""Files of shapes that the edge sends itself."""

from pathlib import Path

import pytest

from schemas.http import FilePart
from schemas.sync import snapshot_file
from services.gateway.objects.shape_files import ShapeFiles

HANDLE = "0123456789abcdef0123456789abcdef-1795883717918222"


def test_only_snapshots_of_the_folder_are_opened(tmp_path: Path) -> None:
    place = snapshot_file(tmp_path, HANDLE)
    place.parent.mkdir(parents=True)
    place.write_bytes(b"[]")
    (tmp_path / "shapes" / "snapshot").write_bytes(b"secret")
    files = ShapeFiles(tmp_path)

    with files.open(FilePart(HANDLE, 0, 2)) as file:
        assert file.read() == b"[]"
    for name in (f"{HANDLE}/..", "..", ".", f"../shapes/{HANDLE}", HANDLE.replace("0", "1")):
        with pytest.raises(OSError, match=r"."):
            files.open(FilePart(name, 0, 2))
    with pytest.raises(OSError, match=r"."):
        ShapeFiles(None).open(FilePart(HANDLE, 0, 2))
    assert not ShapeFiles(None).mark()
    assert not ShapeFiles(tmp_path / "missing").mark()
