"""The source files of a function as the bundle that the pool functions deploys, and a bundle as files. Pure.

The official command line sends files with paths below the folder of the project (`supabase/functions/hello/index.ts`); a bundle
has paths below the folder of `config.toml` (`functions/hello/index.ts`). Files that lie elsewhere keep their paths, so that the
relative imports between them stay valid. Who reads a bundle checks all of it again (workers/functions/deployments/bundles.py).
"""

import gzip
import io
import tarfile
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct

from schemas.functions.deployments import (
    FUNCTION_NAME,
    MANIFEST,
    MOST_FILES,
    MOST_PACKED,
    MOST_UNPACKED,
    BundleManifest,
)
from schemas.settings.functions import FunctionSettings
from workers.management.errors import ManagementError, invalid_arguments

_FOLDER = "supabase/"
_MAX_PATH_BYTES = 512


class FunctionSourceFile(Struct, frozen=True):
    """A file of a function. `path` is relative, with `/` between its parts."""

    path: str
    content: bytes


class FunctionSource(Struct, frozen=True):
    """The files of a function and how it is run. Paths are relative to the folder of the project."""

    name: str
    entrypoint: str
    files: list[FunctionSourceFile]
    import_map: str = ""
    static_files: list[str] = []
    verify_jwt: bool = True


def make_bundle(source: FunctionSource) -> bytes:
    """Return the bundle of a function: equal files give equal bytes. Raises: ManagementError (400, 413)."""
    if not FUNCTION_NAME.fullmatch(source.name):
        raise invalid_arguments(
            f"A function cannot be named {source.name[:80]!r}: letters, digits, - and _, a letter first"
        )
    if len(source.files) >= MOST_FILES:
        raise ManagementError(413, "too_large", f"A function has at most {MOST_FILES - 1} files")
    if sum(len(file.content) for file in source.files) > MOST_UNPACKED:
        raise ManagementError(413, "too_large", f"The files are longer than {MOST_UNPACKED // 2**20} MB")
    paths = [checked_path(file.path) for file in source.files]
    if len(set(paths)) < len(paths):
        raise invalid_arguments("Two files have the same path")
    entrypoint = checked_path(source.entrypoint)
    if entrypoint not in paths:
        raise invalid_arguments(f"The entrypoint {entrypoint} is not among the files")
    prefix = _FOLDER if all(path.startswith(_FOLDER) for path in paths) else ""
    settings = FunctionSettings(
        verify_jwt=source.verify_jwt,
        entrypoint=entrypoint.removeprefix(prefix),
        import_map=checked_path(source.import_map).removeprefix(prefix) if source.import_map else "",
        static_files=[checked_path(pattern).removeprefix(prefix) for pattern in source.static_files],
    )
    files = {path.removeprefix(prefix): file.content for path, file in zip(paths, source.files, strict=True)}
    data = _archive(BundleManifest(source.name, settings), files)
    if len(data) > MOST_PACKED:
        raise ManagementError(413, "too_large", f"The bundle is longer than {MOST_PACKED // 2**20} MB")
    return data


def files_of_bundle(data: bytes) -> FunctionSource:
    """Return the files of a bundle that the platform stored. Raises: ManagementError (502) if it cannot be read."""
    try:
        with (
            gzip.GzipFile(fileobj=io.BytesIO(data)) as unzipped,
            tarfile.open(fileobj=unzipped, mode="r|") as archive,
        ):
            contents = {
                member.name: file.read()
                for member in archive
                if member.isfile() and (file := archive.extractfile(member)) is not None
            }
        manifest = msgspec.json.decode(contents.pop(MANIFEST), type=BundleManifest)
    except (tarfile.TarError, EOFError, OSError, KeyError, msgspec.MsgspecError) as error:
        raise ManagementError(502, "unreadable", f"The stored bundle cannot be read: {error}") from None
    settings = manifest.settings
    usual = f"functions/{manifest.name}/"
    entrypoint = settings.entrypoint or next(
        (path for path in sorted(contents) if path.startswith(f"{usual}index.")), f"{usual}index.ts"
    )
    files = [FunctionSourceFile(_FOLDER + path, content) for path, content in sorted(contents.items())]
    return FunctionSource(
        manifest.name,
        _FOLDER + entrypoint,
        files,
        _FOLDER + settings.import_map if settings.import_map else "",
        [_FOLDER + pattern for pattern in settings.static_files],
        settings.verify_jwt,
    )


def checked_path(path: str) -> str:
    """Return a path that stays below its folder, without `.` parts. Raises: ManagementError (400)."""
    parts = PurePosixPath(path).parts
    is_plain = (
        path.isprintable() and "\\" not in path and len(path.encode(errors="replace")) <= _MAX_PATH_BYTES
    )
    if not parts or path.startswith("/") or ".." in parts or not is_plain:
        raise invalid_arguments(
            f"{path[:80]!r} is not a path of a function's file: it must be relative and stay in the project's folder"
        )
    if parts[-1] == ".env" or parts[-1].startswith(".env."):
        raise invalid_arguments("A function has no .env files: set them with `supabase secrets set`")
    return "/".join(parts)


def _archive(manifest: BundleManifest, files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        _add(archive, MANIFEST, msgspec.json.encode(manifest))
        for path in sorted(files):
            _add(archive, path, files[path])
    return packed.getvalue()


def _add(archive: tarfile.TarFile, path: str, content: bytes) -> None:
    member = tarfile.TarInfo(path)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))
