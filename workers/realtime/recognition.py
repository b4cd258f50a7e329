"""Recognition: the expression of a policy in, a rule that gives the same answer without SQL out. Pure.

What is recognised: `true`, `false`, boolean columns, a column that equals a constant, one of several, or a claim; AND and
OR of these; `auth.role()` compared with constants, which the role alone decides, because the claims that Postgres is told
always name the role it runs as. A claim is `auth.uid()`, `auth.email()`, members of `auth.jwt()` or of
`current_setting('request.jwt.claims')`, cast or not, each also as `( SELECT ...)`. Everything else is `BySql`.

Columns and claims are compared only where equality of what the log and the token carry is equality in Postgres: UUIDs,
booleans, labels of enums, integers and `numeric`, texts under a deterministic collation.

An expression may raise an error, and then shows nothing: so nothing is left out of a rule but what Postgres itself leaves
out when it plans (literal `true` and `false`), and parts that are always true beside AND, always false beside OR.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemas.realtime import AllOf, AnyOf, BySql, Everybody, IsClaim, IsConstant, Nobody, Rule
from workers.realtime.expressions import (
    And,
    Array,
    Bool,
    Call,
    Cast,
    Column,
    Equal,
    EqualAny,
    Get,
    Is,
    Node,
    Not,
    Or,
    Text,
    parse_expression,
)

BY_SQL = BySql()

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
class ColumnType:
    """What must be known of a column: its type as `format_type` spells it with an empty search path."""

    type: str
    is_enum: bool = False
    is_deterministic: bool = True
    """Equal texts are those of equal bytes."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression is about: columns of the table, the role, and which functions of `auth` are our own."""

    columns: Mapping[str, ColumnType]
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
    """The type before a cast that changed how it is compared."""


@dataclass(frozen=True, slots=True)
class _Certain:
    """An expression that is always so for the role, but that Postgres evaluates."""

    value: bool


_Found = Rule | _Certain


def recognise(text: str, scope: Scope) -> Rule:
    """Give the rule of one policy from the text of its expression."""
    return _plain(_rule(parse_expression(text), scope))


def all_of(rules: Sequence[Rule]) -> Rule:
    """Put rules together of which each must hold."""
    return _plain(_all_of(rules))


def any_of(rules: Sequence[Rule]) -> Rule:
    """Put rules together of which one must hold."""
    return _plain(_any_of(rules))


def is_recognised(rule: Rule) -> bool:
    """Tell whether no part of a rule needs SQL."""
    match rule:
        case BySql():
            return False
        case AllOf(rules) | AnyOf(rules):
            return all(map(is_recognised, rules))
    return True


def _plain(found: _Found) -> Rule:
    if isinstance(found, _Certain):
        return Everybody() if found.value else Nobody()
    return found


def _rule(node: Node, scope: Scope) -> _Found:
    match node:
        case Bool(value):
            return Everybody() if value else Nobody()
        case And(parts):
            return _all_of([_rule(part, scope) for part in parts])
        case Or(parts):
            return _any_of([_rule(part, scope) for part in parts])
        case Column(name):
            return _boolean(name, True, scope)
        case Is(Column(name), value):
            return _boolean(name, value, scope)
        case Not(Column(name)):
            return _boolean(name, False, scope)
        case Equal(left, right):
            return _equal(_value(left, scope), _value(right, scope), scope)
        case EqualAny(left, right):
            return _any_equal(_value(left, scope), _items(right, scope), scope)
    return BY_SQL


def _all_of(found: Sequence[_Found]) -> _Found:
    if any(isinstance(each, Nobody) for each in found):
        return Nobody()
    kept = [each for each in found if not isinstance(each, Everybody) and each != _Certain(True)]
    if not kept:
        return _Certain(True) if any(isinstance(each, _Certain) for each in found) else Everybody()
    if len(kept) == 1:
        return kept[0]
    return BY_SQL if all(isinstance(each, BySql) for each in kept) else AllOf([_plain(each) for each in kept])


def _any_of(found: Sequence[_Found]) -> _Found:
    if any(isinstance(each, Everybody) for each in found):
        return Everybody()
    kept = [each for each in found if not isinstance(each, Nobody) and each != _Certain(False)]
    if not kept:
        return _Certain(False) if any(isinstance(each, _Certain) for each in found) else Nobody()
    if len(kept) == 1:
        return kept[0]
    # Beside SQL that may raise, nothing can be said for certain but that SQL is asked.
    return BY_SQL if any(isinstance(each, BySql) for each in kept) else AnyOf([_plain(each) for each in kept])


def _boolean(name: str, value: bool, scope: Scope) -> Rule:
    column = scope.columns.get(name)
    if column is None or column.type != "boolean":
        return BY_SQL
    return IsConstant(name, "true" if value else "false", "bool")


def _any_equal(left: _Value | None, items: list[_Value | None], scope: Scope) -> _Found:
    if left is None or not items:
        return BY_SQL
    return _any_of([_equal(left, item, scope) for item in items])


def _items(node: Node, scope: Scope) -> list[_Value | None]:
    """Give the members of `ARRAY[...]`, each with the casts of the whole."""
    match node:
        case Array(items):
            return [_value(item, scope) for item in items]
        case Cast(of, type) if type.endswith("[]"):
            return [_cast(item, type.removesuffix("[]"), scope) for item in _items(of, scope)]
    return []


def _equal(left: _Value | None, right: _Value | None, scope: Scope) -> _Found:
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
            return IsClaim(column.column, path, "uuid")
        case "text", "text":
            return IsClaim(column.column, path, "uuid" if claim.was == "uuid" else "text")
    # A cast of the claim raises for numbers that its type cannot hold: the column's must not be larger.
    if claim.type in _CLAIMED and claim.type in _WIDER.get(column.was or column.type, ()):
        return IsClaim(column.column, path, "number") if column.type in _WIDER else BY_SQL
    return BY_SQL


def _is_constant(column: _Value, constant: _Value, scope: Scope) -> Rule:
    text = constant.constant or ""
    if column.type in _WIDER and constant.type in _WIDER:
        return IsConstant(column.column, text, "number") if _NUMBER.fullmatch(text) else BY_SQL
    if column.type != constant.type:
        return BY_SQL
    if column.type == "uuid":
        return IsConstant(column.column, text, "uuid") if _UUID.fullmatch(text) else BY_SQL
    if column.type == "boolean":
        return IsConstant(column.column, text, "bool") if text in ("true", "false") else BY_SQL
    is_enum = scope.columns[column.column].is_enum and not column.was
    return IsConstant(column.column, text, "text") if column.type == "text" or is_enum else BY_SQL


def _value(node: Node, scope: Scope) -> _Value | None:
    match node:
        case Column(name):
            return _column(name, scope)
        case Text(value, is_number):
            if not is_number:
                return None  # a text without a type is none that Postgres writes
            return _Value("numeric" if "." in value or len(value) > 9 else "integer", constant=value)
        case Bool(value):
            return _Value("boolean", constant="true" if value else "false")
        case Cast(Text(value), type):
            return _constant(value, type, scope)
        case Cast(of, type):
            return _cast(_claims(node, scope) or _value(of, scope), type, scope)
        case Call() | Get():
            return _claims(node, scope)
    return None


def _column(name: str, scope: Scope) -> _Value | None:
    column = scope.columns.get(name)
    if column is None or not column.is_deterministic:
        return None
    return _Value(column.type, column=name)


def _constant(value: str, type: str, scope: Scope) -> _Value | None:
    is_enum = any(each.is_enum and each.type == type for each in scope.columns.values())
    is_known = is_enum or type in _TEXTS or type in _WIDER or type == "uuid"
    return _Value(type, constant=value) if is_known else None


def _claims(node: Node, scope: Scope) -> _Value | None:
    """Give a claim as a value: JSON, text or UUID."""
    match node:
        case Call("auth", name, ()) if name in scope.trusted:
            match name:
                case "uid":
                    return _Value("uuid", path=("sub",))
                case "jwt":
                    return _Value("jsonb", path=())
            return _Value("text", path=(name,))
        case Get(of, Cast(Text(key), "text"), as_text):
            whole = _claims(of, scope)
            if whole is None or whole.type not in ("json", "jsonb") or whole.path is None:
                return None
            return _Value("text" if as_text else whole.type, path=(*whole.path, key))
        case Cast(of, "json" | "jsonb" as type) if _is_setting(of):
            return _Value(type, path=())
    return None


def _is_setting(node: Node) -> bool:
    """Tell whether this is the text of the claims, with `NULLIF(..., '')` around it or not."""
    match node:
        case Call("", "NULLIF", (of, Cast(Text(""), "text"))):
            return _is_setting(of)
        case Call(
            "", "current_setting", (Cast(Text(name), "text"),) | (Cast(Text(name), "text"), Bool(True))
        ):
            return name == _SETTING
    return False


def _cast(value: _Value | None, type: str, scope: Scope) -> _Value | None:
    """Give a value after a cast, if that changes nothing about what is equal to it, or is kept in mind."""
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
