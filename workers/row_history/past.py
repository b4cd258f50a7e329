"""Rows as they were at a moment, by the first version behind it: what that version replaced. Pure.

    insert, or an update that moved the row to this key   there was no such row
    update                                                its values with those of before over them
    delete                                                its values of before

A row without a version behind the moment is as it was. Values are unknown where a version lacks them, where versions may be missing, and
where the table was truncated before that version.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from workers.row_history.stored import StoredGap, StoredVersion, Values


class FirstLaterVersion(Struct, frozen=True):
    """The first version behind a moment of a row. `row_key`: the text of the key; `read`: how many versions were looked at for all rows."""

    row_key: str
    is_truncated: bool
    read: int
    version: StoredVersion


class PastRow(Struct, frozen=True, omit_defaults=True):
    """A row as it was at a moment. `state`: row, absent, or unknown (`reason` says why)."""

    key: str
    """The text of its key, as `history.copy_rows` takes it."""
    state: str
    changed_at: str
    """When it was changed first behind the moment."""
    values: Values = {}
    reason: str = ""


def past_row(changed: FirstLaterVersion, moment: datetime, gaps: Sequence[StoredGap]) -> PastRow:
    """Return a row as it was at a moment."""
    version, key = changed.version, changed.row_key
    unknown = _unknown(changed, moment, gaps)
    if unknown:
        return PastRow(key, "unknown", version.at, reason=unknown)
    if version.operation == "insert" or (version.former_key not in (None, key) and version.key == key):
        return PastRow(key, "absent", version.at)
    if version.operation == "delete":
        return PastRow(key, "row", version.at, version.before or {})
    return PastRow(key, "row", version.at, {**(version.after or {}), **(version.before or {})})


def _unknown(changed: FirstLaterVersion, moment: datetime, gaps: Sequence[StoredGap]) -> str:
    version = changed.version
    if changed.is_truncated:
        return "the table was truncated since, and a truncation keeps no rows"
    if any(datetime.fromisoformat(gap.at) >= moment and gap.after_lsn < version.lsn for gap in gaps):
        return "versions may be missing between the moment and the first one behind it"
    if version.omitted:
        return f"values are not stored, being too large: {', '.join(version.omitted)}"
    if version.operation != "insert" and version.before is None:
        return "the version does not have the values of before"
    return ""


decode_changed = msgspec.json.Decoder(FirstLaterVersion).decode
