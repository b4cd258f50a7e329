"""The files of an edge's certificate are on the disk when they are written."""

import os
from pathlib import Path

import pytest

from services.certificates.folder import CertificateFolder
from services.certificates.model import OrderHistory


def test_files_are_flushed_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[str] = []
    flush = os.fsync

    def noted(descriptor: int) -> None:
        flushed.append(Path(f"/proc/self/fd/{descriptor}").readlink().name.partition(".json")[0])
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    CertificateFolder(tmp_path).write_history(OrderHistory())

    assert flushed == [".orders", "acme"]
