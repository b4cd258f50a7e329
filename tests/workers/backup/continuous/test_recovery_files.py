import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workers.backup.continuous.recovery_files import _write_piece

SEGMENT = 16


def test_a_piece_is_written_whole_where_the_system_takes_less_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is almost full takes a part: what is missing would be zeros, where Postgres ends its recovery without an error."""
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: write(file, data[:3], at))
    info, base = SimpleNamespace(segment_size=SEGMENT, timeline=1), SimpleNamespace(start_lsn=SEGMENT + 5)
    files: Any = SimpleNamespace(content=SimpleNamespace(info=info), base=base)

    _write_piece(files, tmp_path, SEGMENT - 4, b"old!" + bytes(range(65, 85)))

    written = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))
    assert written == bytes(range(65, 85)) + bytes(12)
