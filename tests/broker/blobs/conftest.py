"""Folders of these tests are on the disk: the log of short blobs is written on file systems that overwrite in place alone."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.run.memory_folder import DISK


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder on the disk, also in a run whose temporary files are in memory."""
    with tempfile.TemporaryDirectory(prefix="headwater-blobs-", dir=os.environ.get(DISK)) as folder:
        yield Path(folder)
