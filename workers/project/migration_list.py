"""Output of `migration list`: folder and history side by side (pure)."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from workers.project.project_folder import ProjectMigration

_HEAD = ("Folder", "Database", "Time (UTC)", "Name")


def listing(migrations: Sequence[ProjectMigration], applied: Mapping[str, str]) -> list[dict[str, str]]:
    """Return a row for each version of the folder or the history, in order. `applied`: names by version."""
    local = {migration.version: migration.name for migration in migrations}
    return [
        {
            "local": version if version in local else "",
            "remote": version if version in applied else "",
            "time": _time(version),
            "name": local.get(version) or applied.get(version, ""),
        }
        for version in sorted({*local, *applied})
    ]


def as_table(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the rows as a text table."""
    cells = [_HEAD, *(tuple(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def as_json(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the rows as JSON."""
    return json.dumps(rows, indent=2)


def _time(version: str) -> str:
    try:
        return str(datetime.strptime(version, "%Y%m%d%H%M%S")) if len(version) == 14 else version
    except ValueError:
        return version
