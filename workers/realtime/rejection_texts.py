"""The texts with which subscriptions to row changes are rejected, as clients know them. Pure.

Source: docs/reference/realtime.md, section 5.
"""

from collections.abc import Sequence

from schemas.realtime import ChangeSubscription
from workers.database.errors import DatabaseError
from workers.realtime.filters import ParsedCondition, inspected

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
    """Return the text for a filter that cannot be parsed."""
    return f"Error parsing `filter` params: {reason}"


def nothing_there(subscription: ChangeSubscription, conditions: Sequence[ParsedCondition]) -> str:
    """Return the text for a subscription that matches no published table."""
    return f"{_UNABLE} Please check Realtime is enabled for the given connect parameters: {_parameters(subscription, conditions)}"


def failed(
    subscription: ChangeSubscription, conditions: Sequence[ParsedCondition], error: DatabaseError
) -> str:
    """Return the text for a subscription that the database rejected."""
    name = _NAMES.get(error.code)
    code = f"{error.code} ({name})" if name else error.code
    parameters = _parameters(subscription, conditions)
    return (
        f"{_UNABLE} An exception happened so please check your connect parameters: {parameters}. "
        f"Exception: ERROR {code} {error.message}"
    )


def raised(message: str) -> DatabaseError:
    """Return an error of our own check as a database error."""
    return DatabaseError("P0001", message)


def _parameters(subscription: ChangeSubscription, conditions: Sequence[ParsedCondition]) -> str:
    filters = inspected([(one.column, one.op, one.value, one.is_negated) for one in conditions])
    select = inspected(subscription.select)
    return (
        f"[event: {subscription.event}, schema: {subscription.schema}, table: {subscription.table}, "
        f"filters: {filters}, select: {select}]"
    )
