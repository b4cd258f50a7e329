"""What the realtime pool tells of its work: the names of things, never a value of a row, a topic or a claim."""

from typing import ClassVar

from broker.observability.observations import Observation
from broker.observability.observe import observe
from workers.database.errors import DatabaseError
from workers.realtime.numbers import Numbers

_NAMES_ONLY = ("42", "0A", "53", "55", "57")
"""Classes of SQLSTATE whose messages name things of the schema or the server, not values."""


class PolicyFailed(Observation, frozen=True):
    """A policy raised an error: whoever it was asked for sees nothing."""

    level: ClassVar[str] = "warning"
    table: str
    role: str
    sqlstate: str
    reason: str
    """The server's message where it holds no values."""


class FilterFailed(Observation, frozen=True):
    """A filter of a subscription could not be decided for a row, which then does not match."""

    level: ClassVar[str] = "warning"
    table: str
    sqlstate: str


class QuestionRefused(Observation, frozen=True):
    """The database refused a question of the realtime edges that it should have answered."""

    level: ClassVar[str] = "error"
    question: str
    request: str
    sqlstate: str
    reason: str


class PartitionsFailed(Observation, frozen=True):
    """The partitions of realtime.messages could not be made or dropped; the next turn tries again."""

    level: ClassVar[str] = "warning"
    sqlstate: str
    reason: str


class PositionsUnreadable(Observation, frozen=True):
    """What came on the subject of client positions could not be read: it was dropped."""

    level: ClassVar[str] = "warning"
    reason: str


def tell_of_policy(numbers: Numbers, error: DatabaseError, table: str, role: str) -> None:
    """Tell of a policy that raised, if that is news."""
    if numbers.is_news("policy", table, role, error.code):
        observe(PolicyFailed(table, role, error.code, telling(error)))


def tell_of_filter(numbers: Numbers, error: DatabaseError, table: str) -> None:
    """Tell of a filter that could not be decided, if that is news."""
    if numbers.is_news("filter", table, error.code):
        observe(FilterFailed(table, error.code))


def telling(error: DatabaseError) -> str:
    """Give the message of an error where it holds no values. Pure."""
    return error.message if error.code[:2] in _NAMES_ONLY else ""
