"""Put a restored data folder in the place of the one in use; the old one stays beside it under another name."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

from services.supervisor.data_folder.folder import DataFolder, is_data_folder, is_locked, write_private
from services.supervisor.errors import StartFailed, StartRefused

BRANCHES = "branches"
"""Folder of the branches, which stay with the path: they are of this platform, and not of one state of it."""


def switch_folders(used: DataFolder, restored: DataFolder, now: float) -> Path | None:
    """Exchange the folders of stopped platforms; return where the old one is now, or None if there was none.

    Raises: StartRefused, StartFailed.
    """
    if not is_data_folder(restored.path) or (
        not (restored.postgres / "data").exists() and not restored.cluster_pointer.exists()
    ):
        raise StartRefused(f"{restored.path} is no restored data folder.")
    for folder in (used, restored):
        if folder.lock.exists() and is_locked(folder.lock):
            raise StartRefused(f"A platform runs in {folder.path}: stop it first.")
    kept = used.path.with_name(f"{used.path.name}-before-{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}")
    try:
        had_one = used.path.exists()
        if had_one:
            _copy_local(used, restored)
            used.path.rename(kept)
        try:
            restored.path.rename(used.path)
        except OSError:
            if had_one:
                kept.rename(used.path)
            raise
    except OSError as error:
        raise StartFailed(
            f"{restored.path} cannot take the place of {used.path}: {error.strerror}. Nothing was changed."
        ) from None
    if had_one and (kept / BRANCHES).exists():
        (kept / BRANCHES).rename(used.path / BRANCHES)
    for folder in (DataFolder(kept), used):
        _point_home_to(folder)
    return kept if had_one else None


def _copy_local(used: DataFolder, restored: DataFolder) -> None:
    """Copy what belongs to this machine rather than to the database: ports and the self-signed certificate."""
    if used.ports.exists():
        write_private(restored.ports, used.ports.read_bytes())
    if used.tls.exists() and not restored.tls.exists():
        shutil.copytree(used.tls, restored.tls)


def _point_home_to(folder: DataFolder) -> None:
    """Write the folder's new path into the home of its database, where that is outside (database_home.py)."""
    if folder.cluster_pointer.exists():
        home = Path(folder.cluster_pointer.read_text().strip())
        if home.is_dir() and os.access(home, os.W_OK):
            write_private(home / "owner", f"{folder.path}\n".encode())
