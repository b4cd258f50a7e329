"""The words in which subscriptions to row changes are refused, as clients know them. Pure.

Source: reference page "realtime", section 5.
"""

from collections.abc import Sequence

from schemas.realtime import Entry
from workers.database.errors import DatabaseError
from workers.realtime.filters import Condition, inspected

NOTHING_ASKED = (
    "No subscription params provided. Please provide at least a `schema` or `table` to subscribe to: "
)
SELECT_OF_MANY = (
    "Column selection is not supported for wildcard subscriptions. Provide an explicit schema and table name."
)

_UNABLE = "Unable to subscribe to changes with given parameters."
_NAMES = {
    "22003": "numeric_value_out_of_range",
    "22007": "invalid_datetime_format",
    "22008": "datetime_field_overflow",
    "22021": "character_not_in_repertoire",
    "22P02": "invalid_text_representation",
    "23514": "check_violation",
    "42704": "undefined_object",
    "57014": "query_canceled",
    "P0001": "raise_exception",
}


def no_filter(reason: str) -> str:
    """The filter cannot be read."""
    return f"Error parsing `filter` params: {reason}"


def nothing_there(entry: Entry, conditions: Sequence[Condition]) -> str:
    """No published table is meant."""
    return f"{_UNABLE} Please check Realtime is enabled for the given connect parameters: {_told(entry, conditions)}"


def failed(entry: Entry, conditions: Sequence[Condition], error: DatabaseError) -> str:
    """The database refused a part of it."""
    name = _NAMES.get(error.code)
    code = f"{error.code} ({name})" if name else error.code
    parameters = _told(entry, conditions)
    return (
        f"{_UNABLE} An exception happened so please check your connect parameters: {parameters}. "
        f"Exception: ERROR {code} {error.message}"
    )


def raised(message: str) -> DatabaseError:
    """Give what a check of our own finds in the form of what the database finds."""
    return DatabaseError("P0001", message)


def _told(entry: Entry, conditions: Sequence[Condition]) -> str:
    filters = inspected([(each.column, each.op, each.value, each.is_negated) for each in conditions])
    select = inspected(entry.select)
    return (
        f"[event: {entry.event}, schema: {entry.schema}, table: {entry.table}, "
        f"filters: {filters}, select: {select}]"
    )
