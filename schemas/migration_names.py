"""Names of the migrations of a project folder: `<digits>_<name>.sql`, where the digits are the version (pure)."""

import re
from collections.abc import Iterable

MIGRATION_NAME = re.compile(r"(\d+)_(.*)\.sql")


def equal_versions(file_names: Iterable[str]) -> str | None:
    """Return what is wrong if two of the files have the same version, and how to mend it; None if all differ.

    Files that are not named as migrations do not count.
    """
    names: dict[str, str] = {}
    for file_name in file_names:
        match = MIGRATION_NAME.fullmatch(file_name)
        if match and (other := names.setdefault(match[1], file_name)) != file_name:
            return (
                f"supabase/migrations/{other} and {file_name} have the same version {match[1]}. "
                "Give one of them another number."
            )
    return None
