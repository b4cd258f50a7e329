"""Where functions run: the folders of their platform, who may enter them, and what a process may use of the machine.

Started as root, functions run as users of their own (`users.py`). Such a user must reach the program, its cache and its
sources; what it cannot reach where it lies (a project in a private home) is copied:

    HOME/cache/KEY       modules and compiled sources of one function (DENO_DIR): its user's, 0700
    HOME/notes/KEY       what the platform has found out about its imports: ours, its group may read
    HOME/preload-....ts  the module that runs first
    HOME/source/...      copies of functions, one folder a version, where they cannot be read in place: its group may read
    HOME/run-PID/        sockets: 0700, ours, where the filter hands them in; else a folder for each process

HOME is `functions` in the data folder, or below /var/lib/headwater if that cannot be reached. No function may read what is
another's: cache, notes and copies are per function, and Landlock names those of one function alone.
"""

import contextlib
import hashlib
import importlib.resources
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import deno  # type: ignore[import-untyped]  # one function, which gives a path

from schemas.settings.tree import SettingsError
from workers.functions.control_groups import ControlGroups, open_groups
from workers.functions.landlock import Access
from workers.functions.registry import Function
from workers.functions.system_files import system_files
from workers.functions.users import FunctionUsers, SystemUser
from workers.functions.walls import Walls, find_walls

SHARED = Path("/var/lib/headwater")
_LONGEST_RUN = 80
"""Bytes of a folder in which a socket's path still fits the kernel's 108."""
_MOST_CACHED, _MOST_CACHED_BYTES = 100_000, 1024 * 1024 * 1024
"""Files and bytes of one function's cache: its packages, and what its processes made of its sources."""


@dataclass(frozen=True, slots=True)
class Places:
    """All that a process needs to be started, but the function itself."""

    users: FunctionUsers
    walls: Walls
    deno: Path
    home: Path
    run: Path
    preload: Path
    system: tuple[tuple[Path, Access], ...] = ()
    """Files of the machine that the runtime uses."""
    closed: tuple[str, ...] = ()
    """Where fetching modules must not lead (inner.py)."""
    groups: ControlGroups | None = None
    groupless: str = ""
    """Why processes have no control groups."""

    @property
    def deployed_mode(self) -> int:
        """Mode of folders that functions of several users pass through: they may not list them."""
        return 0o711 if self.users.is_root else 0o700

    def cache(self, name: str) -> Path:
        """Return DENO_DIR of a function."""
        return self.home / "cache" / _key(name)

    def notes(self, name: str) -> Path:
        """Return the folder of what is known about a function's imports."""
        return self.home / "notes" / _key(name)


def settle(data: Path) -> Places:
    """Make the folders in which functions run. Raises: SettingsError."""
    is_root = os.geteuid() == 0
    try:
        home = _home(data, is_root=is_root)
        users = FunctionUsers(home)
        _sweep(home)
        run = home / f"run-{os.getpid()}"
        if len(os.fsencode(run)) > _LONGEST_RUN:
            run = Path(tempfile.mkdtemp(prefix="headwater-"))
        run.mkdir(mode=0o700, exist_ok=True)
        walls = find_walls()
        if users.is_root and not walls.is_gated:
            run.chmod(0o711)
        program = _program(is_root=is_root)
        system = system_files(program, os.environ)
        groups = open_groups()
        return Places(
            users,
            walls,
            program,
            home,
            run,
            _preload(home),
            system,
            groups=groups if isinstance(groups, ControlGroups) else None,
            groupless=groups if isinstance(groups, str) else "",
        )
    except OSError as error:
        raise SettingsError(f"functions have no place to run: {error.filename}: {error.strerror}") from None


def make_own(places: Places, name: str) -> None:
    """Make the folders of a function: its cache, and the notes about it. Raises: OSError."""
    user = places.users.user_of(name)
    cache, notes = places.cache(name), places.notes(name)
    trim(places, name)
    for folder in (cache, notes):
        folder.mkdir(mode=0o700, exist_ok=True)
    if user is not None:
        os.chown(cache, user.uid, user.gid)
        os.chown(notes, 0, user.gid)
        notes.chmod(0o750)


def trim(places: Places, name: str) -> None:
    """Remove a function's cache if its processes have left more there than modules come to: it is made again."""
    files = size = 0
    for folder, _, names in os.walk(places.cache(name)):
        for each in names:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(folder, each)).st_size
        files += len(names) + 1
        if files > _MOST_CACHED or size > _MOST_CACHED_BYTES:
            shutil.rmtree(places.notes(name) / "fetched", ignore_errors=True)
            shutil.rmtree(places.cache(name), ignore_errors=True)
            return


def give_to(path: Path, user: SystemUser | None) -> None:
    """Let a function's user read files that are ours, and nobody else. Raises: OSError."""
    folder_mode, file_mode = (0o700, 0o600) if user is None else (0o750, 0o640)
    for each in (path, *path.rglob("*")):
        if user is not None:
            os.chown(each, 0, user.gid, follow_symlinks=False)
        each.chmod(folder_mode if each.is_dir() else file_mode)


def leave(places: Places) -> None:
    """Remove what is of no use behind this process."""
    shutil.rmtree(places.run, ignore_errors=True)


def in_reach(function: Function, places: Places) -> Function:
    """Give the function with paths that its process can read: its own, or those of a copy."""
    user = places.users.user_of(function.name)
    wanted = [function.entrypoint, *function.readable, *_maybe(function.config), *_maybe(function.import_map)]
    if user is None or all(_is_readable(path, user) for path in _files(wanted)):
        return function
    base = function.root.parent
    copy = places.home / "source" / f"{function.name}-{function.version}"
    if not copy.exists():
        _copy(base, copy, wanted, user)

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


def _key(name: str) -> str:
    """Return the folder name of a function: names that differ by case alone differ here too."""
    return f"{name}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _home(data: Path, *, is_root: bool) -> Path:
    data.mkdir(parents=True, exist_ok=True)
    if not is_root or _others_pass(data / "functions"):
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
    for folder in (home, *(home / each for each in ("source", "cache", "notes"))):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o711 if is_root else 0o700)
        if is_root and folder.stat().st_uid != 0:  # an earlier version gave the cache to the database's user
            os.chown(folder, 0, 0)
    _sweep_shared_cache(home / "cache")
    return home


def _sweep_shared_cache(cache: Path) -> None:
    """Remove what an earlier version left, whose functions shared one cache that each of them could write."""
    for name in ("npm", "remote", "gen", "deps", "location_data", "headwater", "registries"):
        shutil.rmtree(cache / name, ignore_errors=True)
    for file in cache.glob("*_cache_v*"):
        if file.is_file():
            file.unlink(missing_ok=True)


def _program(*, is_root: bool) -> Path:
    found = Path(os.path.realpath(deno.find_deno_bin()))
    if not is_root or (_others_may(found, 4) and _others_pass(found)):
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


def _others_pass(path: Path) -> bool:
    """Return whether users without rights of their own may pass all folders above a path that may not exist yet."""
    return all(_others_may(folder, 1) for folder in Path(os.path.abspath(path)).parents if folder.exists())


def _others_may(path: Path, right: int) -> bool:
    return bool(path.stat().st_mode & right)


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


def _copy(base: Path, copy: Path, wanted: Iterable[Path], user: SystemUser | None) -> None:
    """Copy files to the same place below another folder, so that their relative imports hold."""
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=copy.parent))
    try:
        for path in _files(wanted):
            if not path.is_relative_to(base) or not path.is_file() or path.name == ".env":
                continue
            target = draft / path.relative_to(base)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        give_to(draft, user)
        try:
            draft.rename(copy)
        except OSError:  # another worker made it at the same time
            if not copy.exists():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
