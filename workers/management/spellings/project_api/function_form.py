"""A deployed form of files as the arguments of `functions.deploy`, and source files as such a form. Pure.

The official command line sends files with paths below the folder of the project (`supabase/functions/hello/index.ts`); a deployed
function has paths below the folder of `config.toml` (`functions/hello/index.ts`). Files that lie elsewhere keep their paths, so that
the relative imports between them stay valid. The pool functions checks all of it again (workers/functions/deployments/bundles.py).
"""

import base64
from collections.abc import Sequence
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct

from schemas.functions.deployments import MOST_FILES, MOST_UNPACKED
from workers.management.areas.project.function_bundles import FunctionFile, check_no_variables
from workers.management.areas.project.multipart import FormPart
from workers.management.interface.errors import ManagementError, invalid_arguments
from workers.management.operations.function_changes import FunctionDeployment
from workers.management.operations.functions import DeployedSettings, FunctionFiles

_FOLDER = "supabase/"
_MAX_PATH_BYTES = 512


class DeployMetadata(Struct, frozen=True):
    """The field `metadata` of a deployment. Paths are relative to the folder of the project."""

    entrypoint_path: str = ""
    import_map_path: str = ""
    static_patterns: list[str] = []
    verify_jwt: bool = True
    name: str = ""


def form_metadata(parts: Sequence[FormPart]) -> DeployMetadata:
    """Return the field `metadata` of a form. Raises: ManagementError (400)."""
    try:
        [part] = [part for part in parts if part.name == "metadata"]
        return msgspec.json.decode(part.content, type=DeployMetadata)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise invalid_arguments(f"The form needs one field `metadata` of JSON: {error}") from None


def deployment_of_form(name: str, metadata: DeployMetadata, parts: Sequence[FormPart]) -> FunctionDeployment:
    """Return the deployment of a function from the files of a form. Raises: ManagementError (400, 413)."""
    files = [part for part in parts if part.name == "file"]
    if len(files) >= MOST_FILES:
        raise ManagementError(413, "too_large", f"A function has at most {MOST_FILES - 1} files")
    if sum(len(file.content) for file in files) > MOST_UNPACKED:
        raise ManagementError(413, "too_large", f"The files are longer than {MOST_UNPACKED // 2**20} MB")
    paths = [checked_path(file.filename) for file in files]
    prefix = _FOLDER if all(path.startswith(_FOLDER) for path in paths) else ""

    def placed(path: str) -> str:
        return checked_path(path).removeprefix(prefix)

    entrypoint, import_map = metadata.entrypoint_path, metadata.import_map_path
    settings = DeployedSettings(
        verify_jwt=metadata.verify_jwt,
        entrypoint=placed(entrypoint) if entrypoint or files else "",
        import_map=placed(import_map) if import_map else "",
        static_files=[placed(pattern) for pattern in metadata.static_patterns],
    )
    deployed = [
        FunctionFile(path.removeprefix(prefix), base64=base64.b64encode(file.content).decode())
        for path, file in zip(paths, files, strict=True)
    ]
    return FunctionDeployment(name, deployed, settings=settings, keeps_paths=True)


def form_of_files(source: FunctionFiles) -> list[FormPart]:
    """Return a form of the files of a function, with paths below the folder of the project."""
    usual = f"functions/{source.name}/"
    entrypoint = source.settings.entrypoint or next(
        (file.path for file in source.files if file.path.startswith(f"{usual}index.")), f"{usual}index.ts"
    )
    metadata = {"deno2_entrypoint_path": _FOLDER + entrypoint, "entrypoint_path": _FOLDER + entrypoint}
    parts = [FormPart("metadata", msgspec.json.encode(metadata))]
    for file in source.files:
        content = base64.b64decode(file.base64) if file.base64 is not None else (file.text or "").encode()
        path = _FOLDER + file.path
        headers = (("Content-Type", "application/octet-stream"), ("Supabase-Path", path))
        parts.append(FormPart("file", content, path, headers))
    return parts


def checked_path(path: str) -> str:
    """Return a path that stays below its folder, without `.` parts and `file://`. Raises: ManagementError (400)."""
    path = path.removeprefix("file://").removeprefix("./")
    parts = PurePosixPath(path).parts
    is_plain = (
        path.isprintable() and "\\" not in path and len(path.encode(errors="replace")) <= _MAX_PATH_BYTES
    )
    if not parts or path.startswith("/") or ".." in parts or not is_plain:
        raise invalid_arguments(
            f"{path[:80]!r} is not a path of a function's file: it must be relative and stay in the project's folder"
        )
    check_no_variables(parts[-1])
    return "/".join(parts)
