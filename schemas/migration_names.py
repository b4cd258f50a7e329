"""Names of the migrations of a project folder: `<digits>_<name>.sql`, where the digits are the version (pure)."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

MIGRATION_NAME = re.compile(r"(\d+)_(.*)\.sql")
_VERSION = "%Y%m%d%H%M%S"
_DIGITS = re.compile(r"\d{1,32}", re.ASCII)


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


def next_version(now: datetime, versions: Iterable[str]) -> str:
    """Return the version of a new migration (pure): the time in UTC, or the second after the last version if that is later.

    Versions are compared as texts. A version that is not a time gets another digit; texts that are not digits are not versions.
    """
    version = now.astimezone(UTC).strftime(_VERSION)
    last = max((existing for existing in versions if _DIGITS.fullmatch(existing)), default="")
    if last < version:
        return version
    try:
        following = datetime.strptime(last, _VERSION).replace(tzinfo=UTC) + timedelta(seconds=1)
    except (ValueError, OverflowError):
        return f"{last}1"
    return following.strftime(_VERSION)
