"""What `migration list` shows: folder and history side by side (pure)."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from workers.project.folder import Migration

_HEAD = ("Folder", "Database", "Time (UTC)", "Name")


def listing(migrations: Sequence[Migration], applied: Mapping[str, str]) -> list[dict[str, str]]:
    """Give a row for each version that either has, in order. `applied`: names by version."""
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
    """Give the rows as a table for people."""
    cells = [_HEAD, *(tuple(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def as_json(rows: Sequence[Mapping[str, str]]) -> str:
    """Give the rows as JSON."""
    return json.dumps(rows, indent=2)


def _time(version: str) -> str:
    try:
        return str(datetime.strptime(version, "%Y%m%d%H%M%S")) if len(version) == 14 else version
    except ValueError:
        return version
