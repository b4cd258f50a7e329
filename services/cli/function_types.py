"""Declarations of the platform's modules for editors, written into the folder of a project's functions.

An editor resolves `headwater:jobs` by the `imports` of the nearest deno.json. So the command enters the module there, as a file of
declarations; the platform leaves such entries out (workers/functions/imports/import_map.py) and runs the module itself.
"""

import json
import os
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from services.cli.bundle import FunctionsFolder

MODULE = "headwater:jobs"
_FILE = Path("_headwater", "jobs.d.ts")
_CONFIGS = ("deno.json", "deno.jsonc")


class NotEntered(Exception):
    """A file could not be changed; the text is the reason."""


def write_types(folder: FunctionsFolder) -> Iterator[str]:
    """Write the declarations, enter them in each deno.json, and yield a sentence for each file. Raises: OSError."""
    types = folder.root / _FILE
    types.parent.mkdir(parents=True, exist_ok=True)
    types.write_text(resources.files("services.cli").joinpath("function", "jobs.d.ts").read_text())
    yield f"Wrote {types}"
    if not any((folder.root / name).is_file() for name in _CONFIGS):
        has_map = (folder.root / "import_map.json").is_file()
        config: dict[str, object] = {"importMap": "./import_map.json"} if has_map else {"imports": {}}
        _write(folder.root / "deno.json", config)
    places = [folder.root, *(folder.root / name for name in folder.names())]
    for file in (place / name for place in places for name in _CONFIGS):
        if file.is_file():
            try:
                if (changed := _enter(file, types)) is not None:
                    yield f"Entered {MODULE} in {changed}"
            except NotEntered as error:
                yield f'Enter "{MODULE}": "{_reference(types, file)}" in the imports of {file} yourself: {error}'


def _enter(file: Path, types: Path) -> Path | None:
    """Enter the module in the imports of a file, or of the one that it names; return which was changed, if any. Raises: NotEntered."""
    read = _read(file)
    other = read.get("importMap")
    if isinstance(other, str) and "imports" not in read:
        if ":" in other:
            raise NotEntered(f"its importMap is {other}")
        file = Path(os.path.abspath(file.parent / other))
        read = _read(file)
    imports = read.setdefault("imports", {})
    if not isinstance(imports, dict):
        raise NotEntered("its imports are not an object")
    if imports.get(MODULE) == _reference(types, file):
        return None
    imports[MODULE] = _reference(types, file)
    _write(file, read)
    return file


def _read(file: Path) -> dict[str, object]:
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise NotEntered("it has comments, which would be lost, or is not JSON") from None
    except FileNotFoundError:
        raise NotEntered(f"there is no {file}") from None
    if not isinstance(read, dict):
        raise NotEntered("it is not an object")
    return read


def _write(file: Path, config: dict[str, object]) -> None:
    file.write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _reference(types: Path, file: Path) -> str:
    path = Path(os.path.relpath(types, file.parent)).as_posix()
    return path if path.startswith("../") else f"./{path}"
