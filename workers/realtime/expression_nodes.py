"""Nodes of the expression of a policy, as `expressions.py` parses it. Data only."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UnknownNode:
    """A part of the expression that the parser does not understand."""


@dataclass(frozen=True, slots=True)
class ColumnNode:
    """A column of the policy's table."""

    name: str


@dataclass(frozen=True, slots=True)
class ExpressionText:
    """The text of a quoted constant, or of a number (`is_number`: it had no quotes)."""

    value: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class BoolNode:
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class CallNode:
    """A function, by its schema ("" is pg_catalog) and name."""

    schema: str
    name: str
    arguments: tuple["ExpressionNode", ...]


@dataclass(frozen=True, slots=True)
class CastNode:
    """A cast; the type as it is written, with schema and `[]`, without a modifier."""

    of: "ExpressionNode"
    type: str


@dataclass(frozen=True, slots=True)
class MemberNode:
    """Access to a member of JSON: `->` or `->>`."""

    of: "ExpressionNode"
    key: "ExpressionNode"
    as_text: bool


@dataclass(frozen=True, slots=True)
class EqualNode:
    """`=` of pg_catalog."""

    left: "ExpressionNode"
    right: "ExpressionNode"


@dataclass(frozen=True, slots=True)
class EqualAnyNode:
    """`= ANY (...)`."""

    left: "ExpressionNode"
    right: "ExpressionNode"


@dataclass(frozen=True, slots=True)
class ArrayNode:
    """`ARRAY[...]`."""

    items: tuple["ExpressionNode", ...]


@dataclass(frozen=True, slots=True)
class IsNode:
    """`IS TRUE` or `IS FALSE`."""

    of: "ExpressionNode"
    value: bool


@dataclass(frozen=True, slots=True)
class NotNode:
    """`NOT`."""

    of: "ExpressionNode"


@dataclass(frozen=True, slots=True)
class AndNode:
    """Conjunction of the parts."""

    parts: tuple["ExpressionNode", ...]


@dataclass(frozen=True, slots=True)
class OrNode:
    """Disjunction of the parts."""

    parts: tuple["ExpressionNode", ...]


ExpressionNode = (
    UnknownNode | ColumnNode | ExpressionText | BoolNode | CallNode | CastNode | MemberNode | EqualNode | EqualAnyNode | ArrayNode | IsNode | NotNode | AndNode | OrNode
)  # fmt: skip

UNKNOWN = UnknownNode()
