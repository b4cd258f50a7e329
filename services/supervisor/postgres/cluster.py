"""The embedded database's home folder, and the creation of the cluster in it.

A cluster's home contains `data/` (Postgres' own folder), `extension/` (control files, extensions.py), `vault.key`
(vault_key.py) and `socket/`.
Usually the home is `postgres/` in the data folder. When root starts the platform in a folder that the server's user cannot
reach (below root's home), the home is `/var/lib/headwater/clusters/<id>/`: a file `cluster` in the data folder points to it, and
a file `owner` in the home points back (database_home.py).
"""

import contextlib
import locale
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from services.supervisor.errors import StartFailed
from services.supervisor.postgres.programs import major_version
from services.supervisor.postgres.system_user import ServerUser, run_as

SUPERUSER = "supabase_admin"
DATABASE = "postgres"
_DRAFT = "making"

_FIRST_WITH_BUILTIN = 17
_BUILTIN = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8")
"""Older versions sort by bytes too, and classify characters by the machine's C.UTF-8."""
_CTYPES = ("C.UTF-8", "C.utf8", "en_US.UTF-8", "UTF-8")


@dataclass(frozen=True, slots=True)
class Cluster:
    """An embedded database: its home, the programs that serve it, and the user they run as (None: the current user)."""

    home: Path
    programs: Path
    user: ServerUser | None

    @property
    def data(self) -> Path:
        """Postgres' own folder."""
        return self.home / "data"

    @property
    def extensions(self) -> Path:
        """Folder for `extension_control_path`; the files are in `extension` below it."""
        return self.home

    @property
    def socket(self) -> Path:
        """Folder of the Unix socket."""
        return self.home / "socket"

    @property
    def exists(self) -> bool:
        """Whether the cluster was created; `create_cluster` renames it into place when it is complete."""
        return (self.data / "PG_VERSION").exists()


def create_cluster(cluster: Cluster, password: str) -> None:
    """Create an empty database cluster: superuser `supabase_admin`, SCRAM everywhere, UTF-8, checksums.

    It is created in a draft folder and renamed when it is complete, so that an interrupted start leaves no partial cluster.
    Raises: StartFailed with initdb's error text.
    """
    remove_draft(cluster)
    draft = (
        cluster.home / f"{_DRAFT}-{os.getpid()}"
    )  # `initdb` of a supervisor that was killed may still write into its own
    draft.mkdir(mode=0o700)
    secret = draft / "password"
    try:
        secret.touch(mode=0o600)
        secret.write_text(password + "\n")
        _change_owner(cluster.user, draft, secret)
        _initdb(cluster, draft / "data", secret)
        (draft / "data").rename(cluster.data)
    finally:
        remove_draft(cluster)


def remove_draft(cluster: Cluster) -> None:
    """Remove draft folders of a killed start; they contain the password file."""
    for draft in cluster.home.glob(f"{_DRAFT}*"):
        shutil.rmtree(draft, ignore_errors=True)


def reset_password(cluster: Cluster, password: str) -> None:
    """Set the superuser's password of a stopped cluster, for a data folder that lost its `passwords.json`.

    Runs the server in single-user mode. Raises: StartFailed with the server's error text.
    """
    statement = f"alter role {SUPERUSER} password '{password}'\n"
    result = _run(cluster, "postgres", ["--single", "-F", "-D", str(cluster.data), DATABASE], statement)
    if result.returncode != 0 or "ERROR" in result.stderr:
        raise StartFailed(f"The database's password could not be set: {_last_line(result.stderr)}")


def give_to_server(cluster: Cluster) -> None:
    """Give all files of the cluster's data to the server's user; a server that runs may remove some meanwhile."""
    if cluster.user is None:
        return
    for folder, _, names in os.walk(cluster.data):
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            with contextlib.suppress(FileNotFoundError):
                os.chown(path, cluster.user.uid, cluster.user.gid, follow_symlinks=False)


def create_inner_folders(cluster: Cluster) -> None:
    """Create the folders of a cluster's home with the modes they need."""
    for folder, mode in ((cluster.home, 0o711), (cluster.socket, 0o711)):
        folder.mkdir(exist_ok=True)
        folder.chmod(mode if cluster.user else 0o700)
    _change_owner(cluster.user, cluster.socket)


def server_environment() -> dict[str, str]:
    """Return the environment of the server's programs: without ours, and with messages in English."""
    inherited = {
        name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "TZDIR") if name in os.environ
    }
    return {**inherited, "LC_MESSAGES": "C", "PGTZ": "UTC"}


def _initdb(cluster: Cluster, data: Path, password_file: Path) -> None:
    ctype = _character_type()
    arguments = [
        f"--pgdata={data}",
        f"--username={SUPERUSER}",
        f"--pwfile={password_file}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        *([f"--lc-ctype={ctype}"] if ctype else []),
        *(_BUILTIN if major_version(cluster.programs) >= _FIRST_WITH_BUILTIN else ()),
        "--no-instructions",
        "--no-sync",  # the first checkpoint syncs; a crash before it loses only an empty database
    ]
    result = _run(cluster, "initdb", arguments)
    if result.returncode != 0:
        raise StartFailed(f"The database could not be made: {_last_line(result.stderr or result.stdout)}")


def _run(
    cluster: Cluster, program: str, arguments: list[str], text: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own program on our own folder
        [cluster.programs / program, *arguments],
        input=text,
        cwd="/",
        env=server_environment(),
        capture_output=True,
        text=True,
        check=False,
        **run_as(cluster.user),
    )


def _character_type() -> str:
    """Return a UTF-8 LC_CTYPE of this machine, by which text search and trigrams classify characters; empty without one."""
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        for name in _CTYPES:
            try:
                locale.setlocale(locale.LC_CTYPE, name)
            except locale.Error:
                continue
            return name
        return ""
    finally:
        locale.setlocale(locale.LC_CTYPE, before)


def _change_owner(user: ServerUser | None, *paths: Path) -> None:
    for path in paths:
        if user is not None:
            os.chown(path, user.uid, user.gid)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it gave no reason"
