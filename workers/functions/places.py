"""Where functions run: the user of their processes, and the folders, programs and files that this user can reach.

Root runs functions as another user: the sandbox of the runtime is one wall, this is the second. That user must reach the
program, the cache and the sources; what it cannot reach where it lies (a project in a private home) is copied:

    HOME/cache           modules and compiled sources of the runtime (DENO_DIR)
    HOME/preload-....ts  the module that runs first
    HOME/source/...      copies of functions, one folder a version, where they cannot be read in place
    HOME/run-PID/        sockets, 0700

HOME is `functions` in the data folder, or below /var/lib/headwater if that cannot be reached.
"""

import contextlib
import hashlib
import importlib.resources
import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import deno  # type: ignore[import-untyped]  # one function, which gives a path

from schemas.settings import SettingsError
from workers.functions.registry import Function

SHARED = Path("/var/lib/headwater")
_USERS = ("headwater", "nobody")
_LONGEST_RUN = 80
"""Bytes of a folder in which a socket's path still fits the kernel's 108."""


@dataclass(frozen=True, slots=True)
class SystemUser:
    """A user that processes run as."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Places:
    """All that a process needs to be started, but the function itself. `user` None: it runs as we do."""

    user: SystemUser | None
    deno: Path
    home: Path
    run: Path
    preload: Path

    @property
    def cache(self) -> Path:
        """DENO_DIR of all functions."""
        return self.home / "cache"


def settle(data: Path) -> Places:
    """Make the folders in which functions run. Raises: SettingsError."""
    user = _function_user()
    try:
        home = _home(data, user)
        cache = home / "cache"
        cache.mkdir(mode=0o700, exist_ok=True)
        _give(cache, user)
        _sweep(home)
        run = home / f"run-{os.getpid()}"
        if len(os.fsencode(run)) > _LONGEST_RUN:
            run = Path(tempfile.mkdtemp(prefix="headwater-"))
        run.mkdir(mode=0o700, exist_ok=True)
        _give(run, user)
        return Places(user, _program(user), home, run, _preload(home))
    except OSError as error:
        raise SettingsError(f"functions have no place to run: {error.filename}: {error.strerror}") from None


def leave(places: Places) -> None:
    """Remove what is of no use behind this process."""
    shutil.rmtree(places.run, ignore_errors=True)


def in_reach(function: Function, places: Places) -> Function:
    """Give the function with paths that its process can read: its own, or those of a copy."""
    user = places.user
    wanted = [function.entrypoint, *function.readable, *_maybe(function.config), *_maybe(function.import_map)]
    if user is None or all(_is_readable(path, user) for path in _files(wanted)):
        return function
    base = function.root.parent
    copy = places.home / "source" / f"{function.name}-{function.version}"
    if not copy.exists():
        _copy(base, copy, wanted)

    def moved(path: Path) -> Path:
        return copy / path.relative_to(base) if path.is_relative_to(base) else path

    return replace(
        function,
        entrypoint=moved(function.entrypoint),
        import_map=moved(function.import_map) if function.import_map else None,
        folder=moved(function.folder),
        root=moved(function.root),
        config=moved(function.config) if function.config else None,
        static_files=tuple(moved(path) for path in function.static_files),
        shared=tuple(moved(path) for path in function.shared),
    )


def forget(function: Function, places: Places) -> None:
    """Remove the copy of a version that nobody runs any more."""
    shutil.rmtree(places.home / "source" / f"{function.name}-{function.version}", ignore_errors=True)


def _function_user() -> SystemUser | None:
    if os.geteuid() != 0:
        return None
    for name in _USERS:
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            if entry.pw_uid != 0:
                return SystemUser(entry.pw_uid, entry.pw_gid)
    raise SettingsError("functions do not run as root: make a user for them (useradd --system headwater)")


def _home(data: Path, user: SystemUser | None) -> Path:
    data.mkdir(parents=True, exist_ok=True)
    if user is None or _may_pass(data / "functions", user):
        home = data / "functions"
    else:
        home = SHARED / "functions" / hashlib.sha256(os.fsencode(data)).hexdigest()[:16]
    for folder in [] if home.is_relative_to(data) else [SHARED, SHARED / "functions"]:
        if not folder.exists():
            folder.mkdir()
            folder.chmod(0o755)
    if not home.is_relative_to(data):
        _sweep_homes(home.parent)
    home.mkdir(exist_ok=True)
    (home / "owner").write_text(str(data))
    home.chmod(0o711 if user else 0o700)
    (home / "source").mkdir(exist_ok=True)
    (home / "source").chmod(0o711 if user else 0o700)
    return home


def _program(user: SystemUser | None) -> Path:
    found = Path(os.path.realpath(deno.find_deno_bin()))
    if user is None or _is_readable(found, user):
        return found
    kept = SHARED / f"deno-{metadata.version('deno')}"
    if not kept.exists():
        SHARED.mkdir(parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(prefix=".deno-", dir=SHARED)
        os.close(descriptor)
        shutil.copyfile(found, draft)
        os.chmod(draft, 0o755)  # noqa: S103 - a program that every user may run
        os.replace(draft, kept)
    return kept


def _preload(home: Path) -> Path:
    source = importlib.resources.files("workers.functions.runtime").joinpath("preload.ts").read_bytes()
    path = home / f"preload-{hashlib.sha256(source).hexdigest()[:12]}.ts"
    if not path.exists():
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.write_bytes(source)
        draft.chmod(0o644)
        draft.replace(path)
    return path


def _sweep(home: Path) -> None:
    """Remove folders of processes that are gone."""
    for folder in [*home.glob("run-*"), *home.glob("deployed-*")]:
        number = folder.name.partition("-")[2]
        if number.isdigit() and not _lives(int(number)):
            shutil.rmtree(folder, ignore_errors=True)


def _sweep_homes(homes: Path) -> None:
    """Remove the homes of data folders that are gone: they hold copies and caches only."""
    for home in homes.iterdir():
        with contextlib.suppress(OSError):
            if not Path((home / "owner").read_text()).exists():
                shutil.rmtree(home, ignore_errors=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid != os.getpid()


def _give(path: Path, user: SystemUser | None) -> None:
    if user is not None:
        os.chown(path, user.uid, user.gid)


def _may_pass(path: Path, user: SystemUser) -> bool:
    """Tell whether a user may pass all folders above a path that may not exist yet."""
    return all(_allows(folder, user, 1) for folder in Path(os.path.abspath(path)).parents if folder.exists())


def _is_readable(path: Path, user: SystemUser) -> bool:
    real = Path(os.path.realpath(path))
    return _allows(real, user, 4) and _may_pass(real, user)


def _allows(path: Path, user: SystemUser, right: int) -> bool:
    """Tell whether the mode of a file gives a user a right: 4 reads, 1 passes."""
    try:
        state = path.stat()
    except OSError:
        return False
    if state.st_uid == user.uid:
        shift = 6
    elif state.st_gid == user.gid:
        shift = 3
    else:
        shift = 0
    return bool(stat.S_IMODE(state.st_mode) >> shift & right)


def _maybe(path: Path | None) -> list[Path]:
    return [path] if path is not None else []


def _files(paths: Iterable[Path]) -> Iterable[Path]:
    for path in paths:
        yield path
        if path.is_dir():
            yield from path.rglob("*")


def _copy(base: Path, copy: Path, wanted: Iterable[Path]) -> None:
    """Copy files to the same place below another folder, so that their relative imports hold."""
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=copy.parent))
    try:
        for path in _files(wanted):
            if not path.is_relative_to(base) or not path.is_file() or path.name == ".env":
                continue
            target = draft / path.relative_to(base)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        for path in (draft, *draft.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        try:
            draft.rename(copy)
        except OSError:  # another worker made it at the same time
            if not copy.exists():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
