"""Make the bundle of a function (schemas/functions/deployments.py) from a project's folder: the same files give the same bytes."""

import gzip
import io
import os
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from schemas.functions.deployments import (
    FUNCTION_NAME,
    MANIFEST,
    MOST_FILES,
    MOST_PACKED,
    MOST_UNPACKED,
    Manifest,
)
from schemas.functions.folder import LEFT_OUT, entrypoint_in, shared_in
from schemas.settings.files import find_file
from schemas.settings.functions import FunctionSettings
from services.supervisor.project.settings import CONFIG, Project

_OF_ALL = ("deno.json", "deno.jsonc", "import_map.json", "package.json", ".npmrc")


class CannotBundle(Exception):
    """A bundle cannot be made; the text tells why."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of a project's functions, and what its settings say of them."""

    root: Path
    named: dict[str, FunctionSettings]

    def names(self) -> list[str]:
        """Give the functions that can be deployed."""
        listed = os.listdir(self.root) if self.root.is_dir() else []
        found = {name for name in listed if FUNCTION_NAME.fullmatch(name) and entrypoint_in(self.root / name)}
        found |= {name for name, own in self.named.items() if own.entrypoint}
        return sorted(name for name in found if name not in self.named or self.named[name].enabled)


def folder_of(project: Project) -> Folder:
    """Give the folder of a project's functions."""
    beside = project.config.parent if project.config else project.root / CONFIG.parent
    path = project.settings.edge_runtime.path
    root = find_file(path, [beside, project.root]) if path else beside / "functions"
    return Folder(Path(os.path.abspath(root)), dict(project.settings.functions))


def make_bundle(folder: Folder, name: str) -> bytes:
    """Make the bundle of a function. Raises: CannotBundle."""
    own = folder.named.get(name, FunctionSettings())
    if not FUNCTION_NAME.fullmatch(name):
        raise CannotBundle(f"A function cannot be named {name!r}: letters, digits, - and _, a letter first.")
    if not own.entrypoint and not entrypoint_in(folder.root / name):
        raise CannotBundle(f"There is no function {name}: {folder.root / name / 'index.ts'} is missing.")
    base = folder.root.parent
    paths = {each for each in _files(folder, name, own) if each.is_file()}
    for path in paths:
        if not path.is_relative_to(base):
            raise CannotBundle(f"{path} lies outside of {base}: a bundle holds only what is below it.")
    if len(paths) >= MOST_FILES:
        raise CannotBundle(f"{name} has more than {MOST_FILES} files.")
    if sum(path.stat().st_size for path in paths) > MOST_UNPACKED:
        raise CannotBundle(f"The files of {name} are longer than {MOST_UNPACKED // 2**20} MB.")

    def moved(path: Path) -> str:
        if path.is_relative_to(folder.root):
            return f"functions/{path.relative_to(folder.root).as_posix()}"
        return path.relative_to(base).as_posix()

    data = _archive(_manifest(name, own, folder, moved), {moved(path): path for path in paths})
    if len(data) > MOST_PACKED:
        raise CannotBundle(f"The bundle of {name} is longer than {MOST_PACKED // 2**20} MB.")
    return data


def _manifest(name: str, own: FunctionSettings, folder: Folder, moved: Callable[[Path], str]) -> Manifest:
    def settled(path: str) -> str:
        return moved(Path(os.path.abspath(folder.root.parent / path))) if path else ""

    settings = msgspec.structs.replace(
        own,
        env={},
        entrypoint=settled(own.entrypoint),
        import_map=settled(own.import_map),
        static_files=[each.removeprefix("./") for each in own.static_files],
    )
    return Manifest(name, settings)


def _files(folder: Folder, name: str, own: FunctionSettings) -> Iterator[Path]:
    base = folder.root.parent
    yield from _below(folder.root / name)
    for shared in shared_in(folder.root, folder.named):
        yield from _below(shared) if shared.is_dir() else (shared,)
    yield from (folder.root / each for each in _OF_ALL)
    for path in (own.entrypoint, own.import_map):
        if path:
            yield Path(os.path.abspath(base / path))
    if own.entrypoint and (beside := Path(os.path.abspath(base / own.entrypoint)).parent) != folder.root:
        yield from _below(beside)
    for pattern in own.static_files:
        yield from (Path(os.path.abspath(path)) for path in base.glob(pattern.removeprefix("./")))


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if each not in LEFT_OUT and not each.startswith("."))
        yield from (Path(place, each) for each in files if not each.startswith(".") or each in _OF_ALL)


def _archive(manifest: Manifest, files: dict[str, Path]) -> bytes:
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        _add(archive, MANIFEST, msgspec.json.encode(manifest))
        for name in sorted(files):
            _add(archive, name, files[name].read_bytes())
    return packed.getvalue()


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))
