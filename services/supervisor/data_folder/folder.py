"""The data folder: all files of one platform, and the lock that shows that it runs.

    .headwater/
      lock            held by the supervisor while it runs; contains its process id
      state.json      what runs now (state.py)           ports.json      the ports of the last start
      passwords.json  generated, mode 0600               cluster         path of the database, if it is elsewhere
      sealing.key     generated, mode 0600: encrypts what the platform stores (sealing_key.py)
      first-start     until a start has shown the link of the first owner (prepare.py)
      postgres/       the embedded database              nats/           JetStream's store and the server's config
      logs/           one file a child process            tls/            a self-signed certificate and its key

The folder has mode 0711 for root, because the database server runs as a system user that has to pass; otherwise 0700.
"""

import contextlib
import fcntl
import os
import secrets
import shlex
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from services.supervisor.errors import StartRefused

_OURS = frozenset(
    {"lock", "state.json", "ports.json", "passwords.json", "cluster", "postgres", "nats", "logs"}
)
"""A folder that contains one of these is a data folder of a platform."""
OF_A_DISK = "lost+found"
"""A new disk that is mounted as the data folder has it."""
_MIB = 1024 * 1024
_LEAST_NEW, _LEAST = 128 * _MIB, 32 * _MIB
"""Free bytes that a new database needs, and that starting an existing one needs."""
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
        """State of the running platform."""
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
        """Home of the embedded database, if the server's user can reach it."""
        return self.path / "postgres"

    @property
    def cluster_pointer(self) -> Path:
        """File that names the database's home when it is elsewhere."""
        return self.path / "cluster"

    @property
    def nats(self) -> Path:
        """JetStream's store and the server's configuration."""
        return self.path / "nats"

    @property
    def tls(self) -> Path:
        """Folder of the gateway's self-signed certificate."""
        return self.path / "tls"

    @property
    def certificate(self) -> Path:
        """The self-signed certificate, in PEM."""
        return self.tls / "certificate.pem"

    @property
    def certificate_key(self) -> Path:
        """Its private key, in PEM."""
        return self.tls / "key.pem"

    @property
    def logs(self) -> Path:
        """One log file for each child process."""
        return self.path / "logs"


def create_data_folder(path: Path) -> DataFolder:
    """Create a data folder where it is missing.

    Raises: StartRefused if it cannot be created or written to, contains other files, or its disk is full.
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


def is_data_folder(path: Path) -> bool:
    """Return whether a folder is the data folder of a platform."""
    try:
        return any(entry.name in _OURS for entry in path.iterdir())
    except OSError:
        return False


def _check_ours(folder: DataFolder) -> None:
    """Reject a folder with other files: its mode would change, and a `.gitignore` would hide them from version control."""
    there = {entry.name for entry in folder.path.iterdir()} if folder.path.is_dir() else set()
    there.discard(OF_A_DISK)
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
    """Take the lock of a data folder and return its descriptor; the lock ends with the process.

    Raises: StartRefused if another supervisor holds it.
    """
    descriptor = os.open(folder.lock, os.O_RDWR | os.O_CREAT, 0o600)
    if not _locked(descriptor):
        holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        os.close(descriptor)
        raise StartRefused(
            f"The data folder {folder.path} is locked: a platform runs in it{f' (process {holder})' if holder else ''}. "
            f"Stop it with `headwater stop --data {shlex.quote(str(folder.path))}`, or name another folder with --data."
        ) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def _locked(descriptor: int) -> bool:
    """Take the lock; retry for 0.2 s, because `is_locked` in another command holds it for an instant."""
    for _ in range(_LOCK_TRIES):
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(_LOCK_PAUSE_S)
    return False


def is_locked(path: Path) -> bool:
    """Return whether a running process holds the lock of a file."""
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


def write_private(path: Path, content: bytes, *, is_durable: bool = False) -> None:
    """Write a file that only its owner can read, atomically: readers see the old or the new content.

    `is_durable`: it is on the disk when this returns. Else the machine may lose it, or leave it empty, if its power fails within a minute.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(content)
            if is_durable:
                file.flush()
                os.fsync(descriptor)
        draft.replace(path)
        if is_durable:
            sync_folder(path.parent)
    except OSError:  # each process would leave one on a full disk
        draft.unlink(missing_ok=True)
        raise


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable. Raises: OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_ports(folder: DataFolder) -> dict[str, int]:
    """Return the ports of the last start by their names, and those that its options named by their variables; empty if there was none."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(folder.ports.read_bytes(), type=dict[str, int])
    return {}


def ensure_passwords(
    folder: DataFolder, names: list[str], apply: Callable[[dict[str, str]], None] = lambda _: None
) -> tuple[dict[str, str], list[str]]:
    """Return a password for each name, and the names whose passwords were generated by this call.

    `apply` gets the new ones before they are stored: a process that is killed in it leaves them to be generated again.
    """
    passwords = _read_passwords(folder)
    new = [name for name in names if name not in passwords]
    if new:
        apply(generated := {name: secrets.token_urlsafe(24) for name in new})
        passwords |= generated
        content = msgspec.json.format(msgspec.json.encode(passwords))
        write_private(folder.passwords, content, is_durable=True)  # the database stores the verifier durably
    return passwords, new


def database_password(folder: DataFolder) -> str:
    """Return the superuser's password of the embedded database, for a command beside the platform.

    Raises: StartRefused where it was lost. Generating one here would keep the next start from setting a new one in the database.
    """
    if (password := _read_passwords(folder).get("database")) is None:
        raise StartRefused(
            f"{folder.passwords} is missing, damaged or cannot be read, so the database's password is not known. Bring the file back, or "
            "stop the platform and start it again: the start sets a new one."
        )
    return password


def _read_passwords(folder: DataFolder) -> dict[str, str]:
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(folder.passwords.read_bytes(), type=dict[str, str])
    return {}
