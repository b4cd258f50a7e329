"""The disk of the write-ahead log is full: Postgres stops with a PANIC until there is room, and nothing acknowledged is lost."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import asyncpg
import pytest

from tests.faults.ledger import Caller, Ledger, Meaning
from tests.faults.place import resize
from tests.platform import Platform, free_port, headwater, platform

pytestmark = [pytest.mark.xdist_group("faults"), pytest.mark.timeout(300)]

_DISK_BYTES = 256 * 1024**2
_PATIENCE_S = 90
_KIND = "rows"
_CONFIG = """
[db.settings]
max_wal_size = "64MB"
min_wal_size = "32MB"
"""


@pytest.fixture
def small_log() -> Iterator[tuple[Platform, Path]]:
    """A platform whose write-ahead log lies on a disk of its own."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a disk")
    folder = Path(tempfile.mkdtemp(prefix="headwater-log-"))
    folder.chmod(0o755)
    disk = folder / "disk"
    disk.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES},mode=755", "tmpfs", str(disk)]
    if subprocess.run(mounting, check=False, capture_output=True).returncode != 0:
        folder.rmdir()
        pytest.skip("no disk can be mounted here")
    (folder / "supabase").mkdir()
    (folder / "supabase" / "config.toml").write_text(_CONFIG)
    try:
        yield from _moved(folder, disk)
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=False)
        shutil.rmtree(folder, ignore_errors=True)
