"""Bundle a function's files from a project's folder (schemas/functions/deployments.py): equal files give equal bytes."""

import gzip
import io
import os
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from broker.processes.setting_files import find_file
from schemas.functions.deployments import (
    FUNCTION_NAME,
    MANIFEST,
    MOST_FILES,
    MOST_PACKED,
    MOST_UNPACKED,
    BundleManifest,
)
from schemas.functions.folder import LEFT_OUT, entrypoint_in, shared_in
from schemas.settings.functions import FunctionSettings
from services.supervisor.project.settings import CONFIG, Project

_OF_ALL = ("deno.json", "deno.jsonc", "import_map.json", "package.json", ".npmrc")


class BundleError(Exception):
    """A bundle cannot be made; the text is the reason."""


@dataclass(frozen=True, slots=True)
class FunctionsFolder:
    """The folder of a project's functions, with their settings."""

    root: Path
    named: dict[str, FunctionSettings]

    def names(self) -> list[str]:
        """Return the functions that can be deployed."""
        listed = os.listdir(self.root) if self.root.is_dir() else []
        names = {name for name in listed if FUNCTION_NAME.fullmatch(name) and entrypoint_in(self.root / name)}
        names |= {name for name, settings in self.named.items() if settings.entrypoint}
        return sorted(name for name in names if name not in self.named or self.named[name].enabled)


def folder_of(project: Project) -> FunctionsFolder:
    """Return the folder of a project's functions."""
    config_folder = project.config.parent if project.config else project.root / CONFIG.parent
    path = project.settings.edge_runtime.path
    root = find_file(path, [config_folder, project.root]) if path else config_folder / "functions"
    return FunctionsFolder(Path(os.path.abspath(root)), dict(project.settings.functions))


def make_bundle(folder: FunctionsFolder, name: str) -> bytes:
    """Return the bundle of a function. Raises: BundleError."""
    settings = folder.named.get(name, FunctionSettings())
    if not FUNCTION_NAME.fullmatch(name):
        raise BundleError(f"A function cannot be named {name!r}: letters, digits, - and _, a letter first.")
    if not settings.entrypoint and not entrypoint_in(folder.root / name):
        raise BundleError(f"There is no function {name}: {folder.root / name / 'index.ts'} is missing.")
    base = folder.root.parent
    paths = {path for path in _files(folder, name, settings) if path.is_file()}
    for path in paths:
        if not path.is_relative_to(base):
            raise BundleError(f"{path} lies outside of {base}: a bundle holds only what is below it.")
    if len(paths) >= MOST_FILES:
        raise BundleError(f"{name} has more than {MOST_FILES} files.")
    if sum(path.stat().st_size for path in paths) > MOST_UNPACKED:
        raise BundleError(f"The files of {name} are longer than {MOST_UNPACKED // 2**20} MB.")

    def moved(path: Path) -> str:
        if path.is_relative_to(folder.root):
            return f"functions/{path.relative_to(folder.root).as_posix()}"
        return path.relative_to(base).as_posix()

    data = _archive(_manifest(name, settings, folder, moved), {moved(path): path for path in paths})
    if len(data) > MOST_PACKED:
        raise BundleError(f"The bundle of {name} is longer than {MOST_PACKED // 2**20} MB.")
    return data


def _manifest(
    name: str, settings_of_function: FunctionSettings, folder: FunctionsFolder, moved: Callable[[Path], str]
) -> BundleManifest:
    def relocated(path: str) -> str:
        return moved(Path(os.path.abspath(folder.root.parent / path))) if path else ""

    settings = msgspec.structs.replace(
        settings_of_function,
        env={},
        entrypoint=relocated(settings_of_function.entrypoint),
        import_map=relocated(settings_of_function.import_map),
        static_files=[file.removeprefix("./") for file in settings_of_function.static_files],
    )
    return BundleManifest(name, settings)


def _files(folder: FunctionsFolder, name: str, settings: FunctionSettings) -> Iterator[Path]:
    base = folder.root.parent
    yield from _below(folder.root / name)
    for shared in shared_in(folder.root, folder.named):
        yield from _below(shared) if shared.is_dir() else (shared,)
    yield from (folder.root / file_name for file_name in _OF_ALL)
    for path in (settings.entrypoint, settings.import_map):
        if path:
            yield Path(os.path.abspath(base / path))
    if (
        settings.entrypoint
        and (entry_folder := Path(os.path.abspath(base / settings.entrypoint)).parent) != folder.root
    ):
        yield from _below(entry_folder)
    for pattern in settings.static_files:
        yield from (Path(os.path.abspath(path)) for path in base.glob(pattern.removeprefix("./")))


def _below(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and not name.startswith("."))
        yield from (Path(parent, name) for name in files if not name.startswith(".") or name in _OF_ALL)


def _archive(manifest: BundleManifest, files: dict[str, Path]) -> bytes:
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
