"""Recognises the expression of a policy as a rule that gives the same answer without SQL. Pure.

Recognised are: `true`, `false`, boolean columns, a column that equals a constant, one of several, or a claim; AND and OR of
these; `auth.role()` compared with constants, which the role alone decides, because the claims that Postgres receives always
have the role it runs as. A claim is `auth.uid()`, `auth.email()`, members of `auth.jwt()` or of
`current_setting('request.jwt.claims')`, with casts or without, each also as `( SELECT ...)`. Everything else is `SqlRule`.

Columns and claims are compared only if equality of the values in the log and in the token is equality in Postgres: UUIDs,
booleans, labels of enums, integers and `numeric`, texts under a deterministic collation.

An expression may raise an error, and then shows no row. So no part is left out of a rule except those that Postgres itself
removes when it plans (literal `true` and `false`), parts that are always true beside AND, and parts that are always false
beside OR.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemas.realtime import AllOf, AnyOf, ClaimRule, ConstantRule, EveryRow, NoRow, Rule, SqlRule
from workers.realtime.expression_nodes import (
    AndNode,
    ArrayNode,
    BoolNode,
    CallNode,
    CastNode,
    ColumnNode,
    EqualAnyNode,
    EqualNode,
    ExpressionNode,
    ExpressionText,
    IsNode,
    MemberNode,
    NotNode,
    OrNode,
)
from workers.realtime.expressions import parse_expression

BY_SQL = SqlRule()

_TEXTS = frozenset(("text", "character varying"))
_WIDER = {
    "smallint": ("smallint", "integer", "bigint", "numeric"),
    "integer": ("integer", "bigint", "numeric"),
    "bigint": ("bigint", "numeric"),
    "numeric": ("numeric",),
}
"""Casts of numbers that lose nothing."""
_CLAIMED = frozenset(("integer", "bigint", "numeric"))
_SETTING = "request.jwt.claims"
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


@dataclass(frozen=True, slots=True)
class PolicyColumn:
    """A column of the policy's table: its type as `format_type` prints it with an empty search path."""

    type: str
    is_enum: bool = False
    is_deterministic: bool = True
    """Equal texts have equal bytes."""


@dataclass(frozen=True, slots=True)
class PolicyScope:
    """The context of an expression: columns of the table, the role, and which functions of `auth` are the platform's."""

    columns: Mapping[str, PolicyColumn]
    role: str
    trusted: frozenset[str] = frozenset(("uid", "jwt", "role", "email"))


@dataclass(frozen=True, slots=True)
class _Value:
    """One side of a comparison: a column, a claim or a constant, and the type it has after its casts."""

    type: str
    column: str = ""
    path: tuple[str, ...] | None = None
    constant: str | None = None
    was: str = ""
    """The type before a cast that changed the comparison."""


@dataclass(frozen=True, slots=True)
class _Certain:
    """An expression that always has this value for the role, but that Postgres evaluates."""

    value: bool


_Outcome = Rule | _Certain


def recognise(text: str, scope: PolicyScope) -> Rule:
    """Return the rule of one policy from the text of its expression."""
    return _plain(_rule(parse_expression(text), scope))


def all_of(rules: Sequence[Rule]) -> Rule:
    """Combine rules of which all must be true."""
    return _plain(_all_of(rules))


def any_of(rules: Sequence[Rule]) -> Rule:
    """Combine rules of which one must be true."""
    return _plain(_any_of(rules))


def is_recognised(rule: Rule) -> bool:
    """Return whether a rule can be evaluated without SQL."""
    match rule:
        case SqlRule():
            return False
        case AllOf(rules) | AnyOf(rules):
            return all(map(is_recognised, rules))
    return True


def _plain(outcome: _Outcome) -> Rule:
    if isinstance(outcome, _Certain):
        return EveryRow() if outcome.value else NoRow()
    return outcome


def _rule(node: ExpressionNode, scope: PolicyScope) -> _Outcome:
    match node:
        case BoolNode(value):
            return EveryRow() if value else NoRow()
        case AndNode(parts):
            return _all_of([_rule(part, scope) for part in parts])
        case OrNode(parts):
            return _any_of([_rule(part, scope) for part in parts])
        case ColumnNode(name):
            return _boolean(name, True, scope)
        case IsNode(ColumnNode(name), value):
            return _boolean(name, value, scope)
        case NotNode(ColumnNode(name)):
            return _boolean(name, False, scope)
        case EqualNode(left, right):
            return _equal(_value(left, scope), _value(right, scope), scope)
        case EqualAnyNode(left, right):
            return _any_equal(_value(left, scope), _items(right, scope), scope)
    return BY_SQL


def _all_of(parts: Sequence[_Outcome]) -> _Outcome:
    if any(isinstance(part, NoRow) for part in parts):
        return NoRow()
    rest = [part for part in parts if not isinstance(part, EveryRow) and part != _Certain(True)]
    if not rest:
        return _Certain(True) if any(isinstance(part, _Certain) for part in parts) else EveryRow()
    if len(rest) == 1:
        return rest[0]
    return (
        BY_SQL if all(isinstance(part, SqlRule) for part in rest) else AllOf([_plain(part) for part in rest])
    )


def _any_of(parts: Sequence[_Outcome]) -> _Outcome:
    if any(isinstance(part, EveryRow) for part in parts):
        return EveryRow()
    rest = [part for part in parts if not isinstance(part, NoRow) and part != _Certain(False)]
    if not rest:
        return _Certain(False) if any(isinstance(part, _Certain) for part in parts) else NoRow()
    if len(rest) == 1:
        return rest[0]
    # Beside SQL that may raise an error no part is certain: SQL must decide.
    return (
        BY_SQL if any(isinstance(part, SqlRule) for part in rest) else AnyOf([_plain(part) for part in rest])
    )


def _boolean(name: str, value: bool, scope: PolicyScope) -> Rule:
    column = scope.columns.get(name)
    if column is None or column.type != "boolean":
        return BY_SQL
    return ConstantRule(name, "true" if value else "false", "bool")


def _any_equal(left: _Value | None, items: list[_Value | None], scope: PolicyScope) -> _Outcome:
    if left is None or not items:
        return BY_SQL
    return _any_of([_equal(left, item, scope) for item in items])


def _items(node: ExpressionNode, scope: PolicyScope) -> list[_Value | None]:
    """Return the items of `ARRAY[...]`, each with the casts of the array."""
    match node:
        case ArrayNode(items):
            return [_value(item, scope) for item in items]
        case CastNode(of, type) if type.endswith("[]"):
            return [_cast(item, type.removesuffix("[]"), scope) for item in _items(of, scope)]
    return []


def _equal(left: _Value | None, right: _Value | None, scope: PolicyScope) -> _Outcome:
    if left is None or right is None:
        return BY_SQL
    if not left.column and left.path != ("role",):
        left, right = right, left
    if left.path == ("role",):
        is_text = left.type == right.type == "text" and right.constant is not None
        return _Certain(scope.role == right.constant) if is_text else BY_SQL
    if not left.column or right.column:
        return BY_SQL
    if right.path is not None:
        return _is_claim(left, right)
    return _is_constant(left, right, scope)


def _is_claim(column: _Value, claim: _Value) -> Rule:
    path = list(claim.path or ())
    if path == ["role"]:
        return BY_SQL
    match column.type, claim.type:
        case "uuid", "uuid":
            return ClaimRule(column.column, path, "uuid")
        case "text", "text":
            return ClaimRule(column.column, path, "uuid" if claim.was == "uuid" else "text")
    # A cast of the claim raises for numbers that its type cannot hold: the column's must not be larger.
    if claim.type in _CLAIMED and claim.type in _WIDER.get(column.was or column.type, ()):
        return ClaimRule(column.column, path, "number") if column.type in _WIDER else BY_SQL
    return BY_SQL


def _is_constant(column: _Value, constant: _Value, scope: PolicyScope) -> Rule:
    text = constant.constant or ""
    if column.type in _WIDER and constant.type in _WIDER:
        return ConstantRule(column.column, text, "number") if _NUMBER.fullmatch(text) else BY_SQL
    if column.type != constant.type:
        return BY_SQL
    if column.type == "uuid":
        return ConstantRule(column.column, text, "uuid") if _UUID.fullmatch(text) else BY_SQL
    if column.type == "boolean":
        return ConstantRule(column.column, text, "bool") if text in ("true", "false") else BY_SQL
    is_enum = scope.columns[column.column].is_enum and not column.was
    return ConstantRule(column.column, text, "text") if column.type == "text" or is_enum else BY_SQL


def _value(node: ExpressionNode, scope: PolicyScope) -> _Value | None:
    match node:
        case ColumnNode(name):
            return _column(name, scope)
        case ExpressionText(value, is_number):
            if not is_number:
                return None  # Postgres always prints a text with its type
            return _Value("numeric" if "." in value or len(value) > 9 else "integer", constant=value)
        case BoolNode(value):
            return _Value("boolean", constant="true" if value else "false")
        case CastNode(ExpressionText(value), type):
            return _constant(value, type, scope)
        case CastNode(of, type):
            return _cast(_claims(node, scope) or _value(of, scope), type, scope)
        case CallNode() | MemberNode():
            return _claims(node, scope)
    return None


def _column(name: str, scope: PolicyScope) -> _Value | None:
    column = scope.columns.get(name)
    if column is None or not column.is_deterministic:
        return None
    return _Value(column.type, column=name)


def _constant(value: str, type: str, scope: PolicyScope) -> _Value | None:
    is_enum = any(column.is_enum and column.type == type for column in scope.columns.values())
    is_known = is_enum or type in _TEXTS or type in _WIDER or type == "uuid"
    return _Value(type, constant=value) if is_known else None


def _claims(node: ExpressionNode, scope: PolicyScope) -> _Value | None:
    """Return a claim as a value: JSON, text or UUID."""
    match node:
        case CallNode("auth", name, ()) if name in scope.trusted:
            match name:
                case "uid":
                    return _Value("uuid", path=("sub",))
                case "jwt":
                    return _Value("jsonb", path=())
            return _Value("text", path=(name,))
        case MemberNode(of, CastNode(ExpressionText(key), "text"), as_text):
            whole = _claims(of, scope)
            if whole is None or whole.type not in ("json", "jsonb") or whole.path is None:
                return None
            return _Value("text" if as_text else whole.type, path=(*whole.path, key))
        case CastNode(of, "json" | "jsonb" as type) if _is_setting(of):
            return _Value(type, path=())
    return None


def _is_setting(node: ExpressionNode) -> bool:
    """Return whether this is the text of the claims, with `NULLIF(..., '')` around it or not."""
    match node:
        case CallNode("", "NULLIF", (of, CastNode(ExpressionText(""), "text"))):
            return _is_setting(of)
        case CallNode(
            "",
            "current_setting",
            (CastNode(ExpressionText(name), "text"),)
            | (CastNode(ExpressionText(name), "text"), BoolNode(True)),
        ):
            return name == _SETTING
    return False


def _cast(value: _Value | None, type: str, scope: PolicyScope) -> _Value | None:
    """Return a value after a cast; None if the cast may change what is equal to it. A change that matters is rest in `was`."""
    if value is None or value.type == type:
        return value
    if value.type in _WIDER and type in _WIDER[value.type] and value.path is None:
        return _Value(type, value.column, None, value.constant, value.was or value.type)
    if value.type == "character varying" and type == "text":
        return _Value(type, value.column, value.path, value.constant)
    if value.path is not None and value.type == "text" and not value.was:
        if type == "character varying":
            return _Value(type, path=value.path)
        return _Value(type, path=value.path) if type in (*_CLAIMED, "uuid") else None
    if type == "text" and value.type in ("uuid", "smallint", "integer", "bigint") and value.constant is None:
        is_plain = value.column or value.type == "uuid"
        return _Value(type, value.column, value.path, None, value.type) if is_plain else None
    return None
