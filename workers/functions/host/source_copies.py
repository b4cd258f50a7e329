"""Copies of functions for users that cannot read them in place, one folder for each version."""

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from workers.functions.catalog.registry import HostedFunction
from workers.functions.host.file_access import grant_read, is_readable
from workers.functions.host.host import FunctionHost
from workers.functions.sandbox.users import FunctionUser


def make_readable(function: HostedFunction, host: FunctionHost) -> HostedFunction:
    """Return the function with paths that its process can read: the original ones, or those of a copy."""
    user = host.users.user_of(function.name)
    needed = [function.entrypoint, *function.readable, *_maybe(function.config), *_maybe(function.import_map)]
    if user is None or all(is_readable(path, user) for path in _files(needed)):
        return function
    base = function.root.parent
    copy = host.home / "source" / f"{function.name}-{function.version}"
    if not copy.exists():
        _copy(base, copy, needed, user)

    def copied(path: Path) -> Path:
        return copy / path.relative_to(base) if path.is_relative_to(base) else path

    return replace(
        function,
        entrypoint=copied(function.entrypoint),
        import_map=copied(function.import_map) if function.import_map else None,
        folder=copied(function.folder),
        root=copied(function.root),
        config=copied(function.config) if function.config else None,
        static_files=tuple(copied(path) for path in function.static_files),
        shared=tuple(copied(path) for path in function.shared),
    )


def remove_copy(function: HostedFunction, host: FunctionHost) -> None:
    """Remove the copy of a version whose processes have all exited."""
    shutil.rmtree(host.home / "source" / f"{function.name}-{function.version}", ignore_errors=True)


def _copy(base: Path, copy: Path, needed: Iterable[Path], user: FunctionUser | None) -> None:
    """Copy files to the same relative paths below another folder, so that relative imports stay valid."""
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=copy.parent))
    try:
        for path in _files(needed):
            if not path.is_relative_to(base) or not path.is_file() or path.name == ".env":
                continue
            target = draft / path.relative_to(base)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        grant_read(draft, user)
        try:
            draft.rename(copy)
        except OSError:  # another worker copied it at the same time
            if not copy.exists():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _files(paths: Iterable[Path]) -> Iterable[Path]:
    for path in paths:
        yield path
        if path.is_dir():
            yield from path.rglob("*")


def _maybe(path: Path | None) -> list[Path]:
    return [path] if path is not None else []
