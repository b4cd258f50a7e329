"""What the realtime pool observes: names of things, never a value of a row, a topic or a claim."""

from typing import ClassVar

from broker.observability.observations import Observation
from broker.observability.observe import observe
from workers.database.errors import DatabaseError
from workers.realtime.metrics import RealtimeMetrics

_NAMES_ONLY = ("42", "0A", "53", "55", "57")
"""Classes of SQLSTATE whose messages name things of the schema or the server, not values."""


class PolicyFailed(Observation, frozen=True):
    """A policy raised an error: the caller sees no row."""

    level: ClassVar[str] = "warning"
    table: str
    role: str
    sqlstate: str
    reason: str
    """The server's message where it holds no values."""


class FilterFailed(Observation, frozen=True):
    """A filter of a subscription could not be evaluated for a row; the row does not match."""

    level: ClassVar[str] = "warning"
    table: str
    sqlstate: str


class RealtimeQueryFailed(Observation, frozen=True):
    """The database rejected a query of the realtime edges that it should have answered."""

    level: ClassVar[str] = "error"
    query: str
    request: str
    sqlstate: str
    reason: str


class PartitionsFailed(Observation, frozen=True):
    """The partitions of realtime.messages could not be created or dropped; it is tried again in 30 seconds."""

    level: ClassVar[str] = "warning"
    sqlstate: str
    reason: str


class PositionsUnreadable(Observation, frozen=True):
    """A message on the subject of client positions could not be decoded; it was dropped."""

    level: ClassVar[str] = "warning"
    reason: str


def report_policy_error(metrics: RealtimeMetrics, error: DatabaseError, table: str, role: str) -> None:
    """Report a policy that raised an error, at most once a minute."""
    if metrics.is_news("policy", table, role, error.code):
        observe(PolicyFailed(table, role, error.code, safe_message(error)))


def report_filter_error(metrics: RealtimeMetrics, error: DatabaseError, table: str) -> None:
    """Report a filter that could not be evaluated, at most once a minute."""
    if metrics.is_news("filter", table, error.code):
        observe(FilterFailed(table, error.code))


def safe_message(error: DatabaseError) -> str:
    """Return the message of an error if it holds no values, else "". Pure."""
    return error.message if error.code[:2] in _NAMES_ONLY else ""
