"""The data folder: everything one platform keeps, and the lock that says it runs.

    .headwater/
      lock            held by the supervisor while it runs; its process id inside
      state.json      what runs now (state.py)           ports.json      the ports of the last start
      passwords.json  made by us, kept 0600              cluster         where the database lies, if not in here
      postgres/       the embedded database              nats/           JetStream's store and the server's config
      logs/           one file a child

The folder is 0700; for root it is 0711, because the database server runs under a system user that has to pass.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from services.supervisor.errors import StartRefused

_OURS = frozenset(
    {"lock", "state.json", "ports.json", "passwords.json", "cluster", "postgres", "nats", "logs"}
)
"""What one of these stands in is a data folder of ours."""
_MIB = 1024 * 1024
_LEAST_NEW, _LEAST = 128 * _MIB, 32 * _MIB
"""Free bytes that a new database needs, and a start of one that is there."""
_LOCK_TRIES = 10
_LOCK_PAUSE_S = 0.02


@dataclass(frozen=True, slots=True)
class DataFolder:
    """The paths in a data folder; `path` is absolute."""

    path: Path

    @property
    def lock(self) -> Path:
        """File whose lock is held while the platform runs."""
        return self.path / "lock"

    @property
    def state(self) -> Path:
        """What runs now."""
        return self.path / "state.json"

    @property
    def ports(self) -> Path:
        """The ports of the last start."""
        return self.path / "ports.json"

    @property
    def passwords(self) -> Path:
        """Passwords between the parts of this platform."""
        return self.path / "passwords.json"

    @property
    def postgres(self) -> Path:
        """Where the embedded database lies when the server's user can reach it."""
        return self.path / "postgres"

    @property
    def cluster_pointer(self) -> Path:
        """Names the folder of the database when it lies elsewhere."""
        return self.path / "cluster"

    @property
    def nats(self) -> Path:
        """JetStream's store and the server's configuration."""
        return self.path / "nats"

    @property
    def logs(self) -> Path:
        """One log file a child."""
        return self.path / "logs"


def make_folder(path: Path) -> DataFolder:
    """Make a data folder where it is missing.

    Raises: StartRefused if it cannot be made or written to, belongs to something else, or has no room.
    """
    folder = DataFolder(Path(os.path.abspath(path)))
    try:
        _check_ours(folder)
        folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_room(folder)
        folder.path.chmod(0o711 if os.geteuid() == 0 else 0o700)
        for inner in (folder.logs, folder.nats):
            inner.mkdir(mode=0o700, exist_ok=True)
        (folder.path / ".gitignore").write_text("*\n")  # nothing in here belongs into version control
    except OSError as error:
        raise StartRefused(
            f"The data folder {folder.path} cannot be used: {error.strerror}. Name another one with --data."
        ) from None
    return folder


def _check_ours(folder: DataFolder) -> None:
    """Leave alone a folder with somebody else's files: its rights would be changed, and it be left out of version control."""
    there = {entry.name for entry in folder.path.iterdir()} if folder.path.is_dir() else set()
    if there and not there & _OURS:
        raise StartRefused(
            f"The folder {folder.path} is no data folder: it holds other files ({', '.join(sorted(there)[:3])}). "
            f"Name one that is empty, or is not there yet, with --data."
        )


def _check_room(folder: DataFolder) -> None:
    least = _LEAST if folder.postgres.exists() or folder.cluster_pointer.exists() else _LEAST_NEW
    if (free := shutil.disk_usage(folder.path).free) < least:
        raise StartRefused(
            f"The disk of the data folder {folder.path} is full: {free // _MIB} MB are free, and a start needs {least // _MIB} MB. "
            f"Free some, or name a folder on another disk with --data."
        )


def lock_folder(folder: DataFolder) -> int:
    """Take the lock of a data folder and give its descriptor; the lock ends with the process.

    Raises: StartRefused if another supervisor holds it.
    """
    descriptor = os.open(folder.lock, os.O_RDWR | os.O_CREAT, 0o600)
    if not _locked(descriptor):
        holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        os.close(descriptor)
        raise StartRefused(
            f"The data folder {folder.path} is locked: a platform runs in it{f' (process {holder})' if holder else ''}. "
            f"Stop it with `headwater stop --data {folder.path}`, or name another folder with --data."
        ) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def _locked(descriptor: int) -> bool:
    """Take the lock; try for a moment, because `is_locked` of another command holds it for an instant."""
    for _ in range(_LOCK_TRIES):
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(_LOCK_PAUSE_S)
    return False


def is_locked(path: Path) -> bool:
    """Tell whether a lock file is held by a running process."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, in one step: readers see the old or the new content."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
    draft.replace(path)


def read_ports(folder: DataFolder) -> dict[str, int]:
    """Give the ports of the last start; empty when there was none."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(folder.ports.read_bytes(), type=dict[str, int])
    return {}


def keep_passwords(folder: DataFolder, names: list[str]) -> tuple[dict[str, str], list[str]]:
    """Give a password for each name, made at random once; and the names of those that are new."""
    kept: dict[str, str] = {}
    with contextlib.suppress(OSError, msgspec.DecodeError):
        kept = msgspec.json.decode(folder.passwords.read_bytes(), type=dict[str, str])
    new = [name for name in names if name not in kept]
    if new:
        kept |= {name: secrets.token_urlsafe(24) for name in new}
        write_private(folder.passwords, msgspec.json.format(msgspec.json.encode(kept)))
    return kept, new
