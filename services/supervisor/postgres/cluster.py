"""Where the embedded database lies, and making it.

A cluster's home holds `data/` (Postgres' own folder), `extension/` (control files, extensions.py), `vault.key`
(vault_key.py) and `socket/`.
Usually the home is `postgres/` in the data folder. When root starts the platform in a folder that the server's user
cannot reach (below root's own), the home is `/var/lib/headwater/clusters/<id>/`: a file `cluster` in the data folder points
to it and a file `owner` in the home points back (shelter.py).
"""

import locale
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from services.supervisor.errors import StartFailed
from services.supervisor.postgres.system_user import SystemUser, run_as

SUPERUSER = "supabase_admin"
DATABASE = "postgres"
_DRAFT = "making"

_CTYPES = ("C.UTF-8", "C.utf8", "en_US.UTF-8", "UTF-8")


@dataclass(frozen=True, slots=True)
class Cluster:
    """An embedded database: where it lies, which programs serve it, who runs them (None: the present user)."""

    home: Path
    programs: Path
    user: SystemUser | None

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
        """Whether the cluster was made; `make_cluster` renames it into place when it is whole."""
        return (self.data / "PG_VERSION").exists()


def make_cluster(cluster: Cluster, password: str) -> None:
    """Make an empty database cluster: superuser `supabase_admin`, SCRAM everywhere, UTF-8, checksums.

    It is made under another name and renamed when it is whole, so an interrupted start leaves nothing half made.
    Raises: StartFailed with initdb's own words.
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
        _give(cluster.user, draft, secret)
        _initdb(cluster, draft / "data", secret)
        (draft / "data").rename(cluster.data)
    finally:
        remove_draft(cluster)


def remove_draft(cluster: Cluster) -> None:
    """Remove what a start that was killed left of making a cluster; the file of the password is among it."""
    for draft in cluster.home.glob(f"{_DRAFT}*"):
        shutil.rmtree(draft, ignore_errors=True)


def reset_password(cluster: Cluster, password: str) -> None:
    """Set the superuser's password of a stopped cluster, for a data folder that lost its own.

    Raises: StartFailed with the server's own words.
    """
    statement = f"alter role {SUPERUSER} password '{password}'\n"
    done = _run(cluster, "postgres", ["--single", "-F", "-D", str(cluster.data), DATABASE], statement)
    if done.returncode != 0 or "ERROR" in done.stderr:
        raise StartFailed(f"The database's password could not be set: {_last_line(done.stderr)}")


def make_inner_folders(cluster: Cluster) -> None:
    """Make the folders of a cluster's home with the rights they need."""
    for folder, mode in ((cluster.home, 0o711), (cluster.socket, 0o711)):
        folder.mkdir(exist_ok=True)
        folder.chmod(mode if cluster.user else 0o700)
    _give(cluster.user, cluster.socket)


def server_environment() -> dict[str, str]:
    """Give the environment of the server's programs: nothing of ours, and messages in English."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "TZDIR") if name in os.environ}
    return {**kept, "LC_MESSAGES": "C", "PGTZ": "UTC"}


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
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--no-instructions",
        "--no-sync",  # the first checkpoint syncs; a machine that dies before has lost an empty database
    ]
    done = _run(cluster, "initdb", arguments)
    if done.returncode != 0:
        raise StartFailed(f"The database could not be made: {_last_line(done.stderr or done.stdout)}")


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
    """Give a UTF-8 LC_CTYPE of this machine: text search and trigrams classify letters by it. Empty: none."""
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


def _give(user: SystemUser | None, *paths: Path) -> None:
    for path in paths:
        if user is not None:
            os.chown(path, user.uid, user.gid)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it gave no reason"
