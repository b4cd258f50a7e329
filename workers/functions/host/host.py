"""The machine as functions use it: folders, file modes, the runtime program, users, control groups.

Started as root, each function runs as its own user (`sandbox/users.py`). That user must be able to reach the program, its
cache and its sources; sources that it cannot read in place (a project in a private home) are copied:

    HOME/cache/KEY       modules and compiled sources of one function (DENO_DIR): owned by its user, 0700
    HOME/notes/KEY       what the platform has recorded about its imports: owned by root, readable for its group
    HOME/preload-....ts  the module that runs first
    HOME/source/...      copies of functions that cannot be read in place, one folder a version, readable for its group
    HOME/run-PID/        unix sockets: 0700, ours, if sockets are handed over; else one folder for each process

HOME is `functions` in the data folder, or below /var/lib/headwater if users cannot reach the data folder. A function cannot
read what belongs to another one: cache, notes and copies are separate, and Landlock allows only those of the function.
"""

import contextlib
import hashlib
import importlib.resources
import os
import shutil
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import deno  # type: ignore[import-untyped]  # one function, which gives a path

from schemas.settings.tree import SettingsError
from schemas.system_errors import system_error_text
from workers.functions.host.file_access import others_may, others_pass
from workers.functions.host.loopback import LoopbackPorts
from workers.functions.sandbox.control_groups import ControlGroups, open_groups
from workers.functions.sandbox.features import SandboxFeatures, detect_features
from workers.functions.sandbox.landlock import Access
from workers.functions.sandbox.loopback_wall import LoopbackWall, open_wall
from workers.functions.sandbox.system_files import system_files
from workers.functions.sandbox.users import FunctionUsers

SHARED = Path("/var/lib/headwater")
_LONGEST_RUN = 80
"""Longest folder path in bytes with which the path of a socket stays below the kernel's limit of 108."""
_MOST_CACHED, _MOST_CACHED_BYTES = 100_000, 1024 * 1024 * 1024
"""Files and bytes of one function's cache: its packages, and compiled sources."""


@dataclass(frozen=True, slots=True)
class FunctionHost:
    """What a process needs to start, except for the function itself."""

    users: FunctionUsers
    features: SandboxFeatures
    deno: Path
    home: Path
    run: Path
    preload: Path
    system: tuple[tuple[Path, Access], ...] = ()
    """Files of the operating system that the runtime reads."""
    closed: tuple[str, ...] = ()
    """Addresses that must not be contacted to fetch modules (denied_hosts.py)."""
    loopback: LoopbackPorts = LoopbackPorts()  # noqa: RUF009 - frozen
    """The ports of this machine's loopback that functions may reach."""
    groups: ControlGroups | None = None
    groupless: str = ""
    """Why control groups do not limit processes; empty if they do."""
    wall: LoopbackWall | None = None
    """Closes loopback to the groups of processes; only with `groups`."""
    wallless: str = ""
    """Why the kernel does not close loopback; empty if it does."""

    @property
    def deployed_mode(self) -> int:
        """Mode of folders that several functions' users pass through: they cannot list them."""
        return 0o711 if self.users.is_root else 0o700

    def cache(self, name: str) -> Path:
        """Return the cache of a function (DENO_DIR)."""
        return self.home / "cache" / _key(name)

    def notes(self, name: str) -> Path:
        """Return the folder of records about a function's imports."""
        return self.home / "notes" / _key(name)


def open_host(data: Path) -> FunctionHost:
    """Create the folders in which functions run, and detect the sandbox features. Raises: SettingsError."""
    is_root = os.geteuid() == 0
    try:
        home = _home(data, is_root=is_root)
        users = FunctionUsers(home)
        _sweep(home)
        run = home / f"run-{os.getpid()}"
        if len(os.fsencode(run)) > _LONGEST_RUN:
            run = Path(tempfile.mkdtemp(prefix="headwater-"))
        run.mkdir(mode=0o700, exist_ok=True)
        features = detect_features()
        if users.is_root and not features.is_gated:
            run.chmod(0o711)
        program = _program(is_root=is_root)
        system = system_files(program, os.environ)
        groups, groupless = open_groups()
        wall = open_wall() if groups is not None else groupless
        return FunctionHost(
            users,
            features,
            program,
            home,
            run,
            _preload(home),
            system,
            groups=groups,
            groupless=groupless,
            wall=wall if isinstance(wall, LoopbackWall) else None,
            wallless=wall if isinstance(wall, str) else "",
        )
    except OSError as error:
        raise SettingsError(f"functions cannot run here: {system_error_text(error)}") from None


def make_function_folders(host: FunctionHost, name: str) -> None:
    """Create the folders of a function: its cache, and the notes about it. Raises: OSError."""
    user = host.users.user_of(name)
    cache, notes = host.cache(name), host.notes(name)
    trim_cache(host, name)
    for folder in (cache, notes):
        folder.mkdir(mode=0o700, exist_ok=True)
    if user is not None:
        os.chown(cache, user.uid, user.gid)
        os.chown(notes, 0, user.gid)
        notes.chmod(0o750)


def trim_cache(host: FunctionHost, name: str) -> None:
    """Remove a function's cache if its processes have filled it beyond the limits; it is created again when needed."""
    files = size = 0
    for folder, _, names in os.walk(host.cache(name)):
        for name_of_file in names:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(folder, name_of_file)).st_size
        files += len(names) + 1
        if files > _MOST_CACHED or size > _MOST_CACHED_BYTES:
            shutil.rmtree(host.notes(name) / "fetched", ignore_errors=True)
            shutil.rmtree(host.cache(name), ignore_errors=True)
            return


def close_host(host: FunctionHost) -> None:
    """Remove the files that only this process uses."""
    if host.wall is not None:
        host.wall.close()
    shutil.rmtree(host.run, ignore_errors=True)


def _key(name: str) -> str:
    """Return the folder name of a function; the digest separates names that differ by case alone."""
    return f"{name}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _home(data: Path, *, is_root: bool) -> Path:
    data.mkdir(parents=True, exist_ok=True)
    if not is_root or others_pass(data / "functions"):
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
    for folder in (home, *(home / name for name in ("source", "cache", "notes"))):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o711 if is_root else 0o700)
        if is_root and folder.stat().st_uid != 0:  # an earlier version gave the cache to the database's user
            os.chown(folder, 0, 0)
    _sweep_shared_cache(home / "cache")
    return home


def _sweep_shared_cache(cache: Path) -> None:
    """Remove the cache of an earlier version, which all functions shared and could write."""
    for name in ("npm", "remote", "gen", "deps", "location_data", "headwater", "registries"):
        shutil.rmtree(cache / name, ignore_errors=True)
    for file in cache.glob("*_cache_v*"):
        if file.is_file():
            file.unlink(missing_ok=True)


def _program(*, is_root: bool) -> Path:
    program = Path(os.path.realpath(deno.find_deno_bin()))
    if not is_root or (others_may(program, 4) and others_pass(program)):
        return program
    copy = SHARED / f"deno-{metadata.version('deno')}"
    if not copy.exists():
        SHARED.mkdir(parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(prefix=".deno-", dir=SHARED)
        os.close(descriptor)
        shutil.copyfile(program, draft)
        os.chmod(draft, 0o755)  # noqa: S103 - a program that every user may run
        os.replace(draft, copy)
    return copy


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
    """Remove folders of processes that no longer run."""
    for folder in [*home.glob("run-*"), *home.glob("deployed-*")]:
        number = folder.name.partition("-")[2]
        if number.isdigit() and not _lives(int(number)):
            shutil.rmtree(folder, ignore_errors=True)


def _sweep_homes(homes: Path) -> None:
    """Remove the homes of data folders that no longer exist; they contain copies and caches only."""
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
