"""Import maps of functions: what a function's process is told about where its modules are."""

from dataclasses import dataclass
from pathlib import Path

from schemas.functions_settings import FunctionSettings

_MAPS = ("import_map.json", "deno.json", "deno.jsonc")


@dataclass(frozen=True, slots=True)
class Prepared:
    """How a function's imports are resolved. `is_cached`: everything is there, no registry is asked."""

    import_map_path: Path | None = None
    warnings: tuple[str, ...] = ()
    is_cached: bool = False


def prepare(function_folder: Path, settings: FunctionSettings, cache_dir: Path) -> Prepared:
    """Give the import map of a function: the one its settings name; Deno finds that of its deno.json itself."""
    del cache_dir
    if settings.import_map:
        return Prepared((function_folder.parent.parent / settings.import_map).resolve())
    named = (function_folder / _MAPS[0], function_folder.parent / _MAPS[0])
    return Prepared(next((path for path in named if path.is_file()), None))
