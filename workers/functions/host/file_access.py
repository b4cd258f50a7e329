"""Which users can read which files: checked from file modes, and granted to the user of one function."""

import os
import stat
from pathlib import Path

from workers.functions.sandbox.users import FunctionUser


def grant_read(path: Path, user: FunctionUser | None) -> None:
    """Make files of ours readable for a function's user, and for no other. Raises: OSError."""
    folder_mode, file_mode = (0o700, 0o600) if user is None else (0o750, 0o640)
    for file in (path, *path.rglob("*")):
        if user is not None:
            os.chown(file, 0, user.gid, follow_symlinks=False)
        file.chmod(folder_mode if file.is_dir() else file_mode)


def is_readable(path: Path, user: FunctionUser) -> bool:
    real = Path(os.path.realpath(path))
    return _allows(real, user, 4) and _may_pass(real, user)


def others_pass(path: Path) -> bool:
    """Return whether any user may pass all folders above a path, which need not exist yet."""
    return all(others_may(folder, 1) for folder in Path(os.path.abspath(path)).parents if folder.exists())


def others_may(path: Path, right: int) -> bool:
    return bool(path.stat().st_mode & right)


def _may_pass(path: Path, user: FunctionUser) -> bool:
    """Return whether a user may pass all folders above a path, which need not exist yet."""
    return all(_allows(folder, user, 1) for folder in Path(os.path.abspath(path)).parents if folder.exists())


def _allows(path: Path, user: FunctionUser, right: int) -> bool:
    """Return whether the mode of a file grants a user a right: 4 reads, 1 passes."""
    try:
        status = path.stat()
    except OSError:
        return False
    if status.st_uid == user.uid:
        shift = 6
    elif status.st_gid == user.gid:
        shift = 3
    else:
        shift = 0
    return bool(stat.S_IMODE(status.st_mode) >> shift & right)
