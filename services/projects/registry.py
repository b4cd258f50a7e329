"""The projects of a server on the disk: `NAME/project.json` in the server's folder, and what `add` and `remove` do.

    .headwater-projects/
      server.lock         held by the running server           server.json     its state and the token of its control port
      front.json          the options of the last start        turn.lock       held while projects are added or changed
      NAME/project.json   makes the folder a project of this server
      NAME/               the project's folder, unless `add --folder` names another: `.env` with its keys, `supabase/`
      NAME/.headwater/    its data folder (of another folder: in that one)

A project is a platform like any other, so every command works on it with `--project`.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from services.projects.model import FrontOptions, ProjectRecord, ProjectsServerState
from services.projects.names import base_host, checked_hosts, checked_project_name
from services.supervisor.data_folder.folder import DataFolder, is_locked, write_private
from services.supervisor.errors import StartRefused
from services.supervisor.project.settings import DATA_FOLDER

FOLDER = ".headwater-projects"
RECORD = "project.json"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServerFolder:
    """The paths in the folder of a server of projects; `path` is absolute."""

    path: Path

    @property
    def lock(self) -> Path:
        """File whose lock is held while the server runs."""
        return self.path / "server.lock"

    @property
    def state(self) -> Path:
        """State of the running server."""
        return self.path / "server.json"

    @property
    def options(self) -> Path:
        """The options of the last start."""
        return self.path / "front.json"

    @property
    def log(self) -> Path:
        """What the server reports."""
        return self.path / "server.log"

    def project(self, name: str) -> Path:
        """The folder of a project in the server's."""
        return self.path / name

    def wake_note(self, name: str) -> Path:
        """File that says when a sleeping project wakes by itself (`idleness.py`)."""
        return self.project(name) / "asleep.json"


def find_server_folder(named: Path | None) -> ServerFolder:
    """Return the folder of the server: the named one, else the nearest `.headwater-projects`, here or above, else one here."""
    if named is not None:
        return ServerFolder(Path(os.path.abspath(named)))
    here = Path(os.path.abspath(""))
    candidates = (folder / FOLDER for folder in (here, *here.parents))
    return ServerFolder(next((path for path in candidates if path.is_dir()), here / FOLDER))


def create_server_folder(folder: ServerFolder) -> None:
    """Create the folder where it is missing. Raises: StartRefused."""
    try:
        folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _let_servers_pass(folder.path)
        (folder.path / ".gitignore").write_text("*\n")  # nothing in here belongs into version control
    except OSError as error:
        raise StartRefused(
            f"The folder {folder.path} cannot be used: {error.strerror}. Name another one with --root."
        ) from None


def data_folder_of(record: ProjectRecord) -> DataFolder:
    """Return the data folder of a project."""
    return DataFolder(Path(record.folder) / DATA_FOLDER)


def read_projects(folder: ServerFolder) -> list[ProjectRecord]:
    """Return all projects, sorted by name. Raises: StartRefused if the record of one cannot be read."""
    return [
        record for path in sorted(folder.path.glob(f"*/{RECORD}")) if (record := _read(path, ProjectRecord))
    ]


def find_project(folder: ServerFolder, name: str) -> ProjectRecord:
    """Return a project. Raises: StartRefused if there is none, with the names of those that are there."""
    record = _read(folder.project(checked_project_name(name)) / RECORD, ProjectRecord)
    if record is None:
        names = ", ".join(project.name for project in read_projects(folder)) or "none"
        raise StartRefused(f"There is no project {name} in {folder.path}. Projects: {names}.")
    return record


def write_project(folder: ServerFolder, record: ProjectRecord, url: str) -> ProjectRecord:
    """Store a new or changed project. Raises: StartRefused if its hosts are taken."""
    with changing(folder):
        hosts = checked_hosts(record.name, record.hosts, base_host(url), read_projects(folder))
        record = msgspec.structs.replace(record, hosts=hosts)
        _write(folder, record)
    return record


def add_project(folder: ServerFolder, record: ProjectRecord, url: str) -> ProjectRecord:
    """Store a new project. Raises: StartRefused if the name, a host or the folder is taken."""
    checked_project_name(record.name)
    create_server_folder(folder)
    with changing(folder):
        others = read_projects(folder)
        for other in others:
            if other.name == record.name:
                raise StartRefused(
                    f"There is a project {record.name} already, in {other.folder}. Choose another name."
                )
            if os.path.realpath(other.folder) == os.path.realpath(record.folder):
                raise StartRefused(
                    f"{record.folder} is the folder of the project {other.name}. Name another with --folder."
                )
        hosts = checked_hosts(record.name, record.hosts, base_host(url), others)
        record = msgspec.structs.replace(record, hosts=hosts, created_at=time.time())
        for path in (folder.project(record.name), Path(record.folder)):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _let_servers_pass(folder.project(record.name))
        _write(folder, record)
    return record


def forget_project(folder: ServerFolder, record: ProjectRecord) -> None:
    """Make a folder a project no more; its files stay."""
    with changing(folder):
        for path in (folder.project(record.name) / RECORD, folder.wake_note(record.name)):
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            folder.project(record.name).rmdir()  # empty, if the project's folder is elsewhere


@contextlib.contextmanager
def changing(folder: ServerFolder) -> Iterator[None]:
    """Let one process at a time add, change or remove projects."""
    descriptor = os.open(folder.path / "turn.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def lock_server(folder: ServerFolder) -> int:
    """Take the lock of a server and return its descriptor. Raises: StartRefused if another process holds it."""
    descriptor = os.open(folder.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise StartRefused(
            f"A server of projects runs in {folder.path} already. Stop it with `headwater projects stop`."
        ) from None
    return descriptor


def running_server_state(folder: ServerFolder) -> ProjectsServerState | None:
    """Return the state of the running server, or None."""
    if not is_locked(folder.lock):
        return None
    with contextlib.suppress(StartRefused):
        return _read(folder.state, ProjectsServerState)
    return None


def read_front(folder: ServerFolder) -> FrontOptions:
    """Return the options of the last start, or the default ones. Raises: StartRefused."""
    return _read(folder.options, FrontOptions) or FrontOptions()


def _let_servers_pass(path: Path) -> None:
    """The database server runs as a system user that has to pass, where we are root."""
    path.chmod(0o711 if os.geteuid() == 0 else 0o700)


def _write(folder: ServerFolder, record: ProjectRecord) -> None:
    write_private(folder.project(record.name) / RECORD, msgspec.json.format(msgspec.json.encode(record)))


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StartRefused(f"{path} cannot be read: {error.strerror}.") from None
    except msgspec.MsgspecError as error:
        raise StartRefused(f"{path} is damaged ({error}). Mend or remove it.") from None
