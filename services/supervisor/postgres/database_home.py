"""Homes of databases whose data folder the server's user cannot reach; only root has them.

Each home has an `owner` file that names its data folder, whose `cluster` file names the home. A home whose data folder is gone,
or points elsewhere, is removed: at once if the data folder was a temporary one, else after a week, so that moving a folder or not
mounting a disk does not delete a database. A home whose lock is held is not touched.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from services.supervisor.binaries import SHARED, create_shared_folder
from services.supervisor.data_folder.folder import DataFolder, is_locked, write_private
from services.supervisor.errors import StartRefused

_GRACE_S = 7 * 24 * 3600.0


def outside_home(folder: DataFolder, shared: Path = SHARED) -> Path:
    """Return the home of this data folder's database outside of it; create one if the data folder points to none.

    Raises: StartRefused if the data folder is a copy of another one that still uses the home.
    """
    home = pointed_home(folder)
    if home is None:
        home = _new_home(shared)
        write_private(folder.cluster_pointer, f"{home}\n".encode())
    owner = _owner(home)
    if owner and owner != folder.path and _points_to(owner, home):
        raise StartRefused(
            f"The data folder {folder.path} is a copy of {owner}, and both point to the database in {home}. "
            f"Remove {folder.cluster_pointer} to begin with an empty database."
        )
    (home / "orphan").unlink(missing_ok=True)
    write_private(home / "owner", f"{folder.path}\n".encode())
    return home


@contextlib.contextmanager
def short_lived_home(folder: DataFolder, shared: Path = SHARED) -> Iterator[Path]:
    """Yield a home that is removed after the block; `remove_abandoned_homes` removes one of a killed process."""
    home = _new_home(shared)
    lock = lock_home(home)
    try:
        write_private(home / "owner", f"{folder.path}\n".encode())
        yield home
    finally:
        os.close(lock)
        shutil.rmtree(home, ignore_errors=True)


def _new_home(shared: Path) -> Path:
    home = shared / "clusters" / secrets.token_hex(8)
    create_shared_folder(shared)
    create_shared_folder(home.parent)
    home.mkdir()
    return home


def pointed_home(folder: DataFolder) -> Path | None:
    """Return the home that a data folder points to, or None without a pointer.

    Raises: StartRefused if it points to a home that is gone.
    """
    try:
        home = Path(folder.cluster_pointer.read_text().strip())
    except OSError:
        return None
    if not home.is_dir():
        raise StartRefused(
            f"The database of this platform is missing: {folder.cluster_pointer} points to {home}, which is gone. "
            f"Put it back, or remove {folder.cluster_pointer} to begin with an empty database."
        )
    return home


def lock_home(home: Path) -> int:
    """Lock a home for as long as this process lives."""
    descriptor = os.open(home / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def remove_abandoned_homes(
    info: Callable[[str], None], shared: Path = SHARED, *, now: float | None = None
) -> None:
    """Remove the homes whose data folders are gone."""
    moment = time.time() if now is None else now
    for home in sorted((shared / "clusters").glob("*")):
        with contextlib.suppress(OSError):
            if _is_abandoned(home, moment):
                info(f"Removing the database of {_owner(home)}, which is gone")
                shutil.rmtree(home)


def _is_abandoned(home: Path, now: float) -> bool:
    owner = _owner(home)
    if owner is None or is_locked(home / "lock") or _serves(home):
        return False
    mark = home / "orphan"
    if _points_to(owner, home):
        mark.unlink(missing_ok=True)
        return False
    if owner.is_relative_to(tempfile.gettempdir()):
        return True
    since = _marked_at(mark)
    if since is None or since > now:  # the clock was set back
        write_private(mark, f"{now}\n".encode())
        return False
    return now - since > _GRACE_S


def _marked_at(mark: Path) -> float | None:
    """Return since when a home is marked; None without a mark, or for one that a full disk cut off."""
    try:
        return float(mark.read_text())
    except (OSError, ValueError):
        return None


def _serves(home: Path) -> bool:
    """Return whether a database server still runs in a home."""
    try:
        pid = int((home / "data" / "postmaster.pid").read_text().split("\n", 1)[0])
        os.kill(pid, 0)
    except (OSError, ValueError):
        return False
    return True


def _owner(home: Path) -> Path | None:
    try:
        return Path((home / "owner").read_text().strip())
    except OSError:
        return None


def _points_to(owner: Path, home: Path) -> bool:
    try:
        return Path((owner / "cluster").read_text().strip()) == home
    except OSError:
        return False
