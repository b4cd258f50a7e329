"""Filters and logic trees: `op.value`, `and=(...)`, `or=(...)`.

Source: docs/reference/rest.md, sections 6 and 7. Which operators there are is the business of `workers/sql/operators.py`.
"""

import re
from collections.abc import Callable

from msgspec.structs import replace

from workers.rest.errors.parse import BadQuery
from workers.rest.model import Condition, FieldFilter, FieldPath, Logic, Path, RelatedTest
from workers.rest.parse.lexer import (
    Scanner,
    parse_cast,
    parse_cast_field,
    parse_json_path,
    parse_name,
    parse_quoted,
)
from workers.sql.compose import ParameterSlot
from workers.sql.operators import IS_WORDS, OPERATORS, Operator, array_literal, like_pattern

MAX_DEPTH = 100
"""Logic trees inside one another."""

Leaf = Callable[[Scanner], FieldFilter]

_SEARCH = re.compile(r"([a-z]+)(?:\(([^)]*)\))?\.")
_UNQUOTED = re.compile(r"[^,)]*")
_ARRAY = re.compile(r"\{[^{}]*\}")
_RELATED = re.compile(r'("(?:[^"\\]|\\.)*"|[\w $-]+)(!|\()')
_GROUP = re.compile(r"(and|or) *(?=\()")
_OPENING = re.compile(r"and|or")
_PLAIN_PATH = re.compile(r"[\w$]+(?:\.[\w$]+)*")
"""A column's name behind names of embeds, as most keys are."""
_GROUPS = "logic operator (and, or)"
_COLUMN = "col"
_OPERATOR = "operator (eq, gt, ...)"


def parse_filter(field: FieldPath, text: str, slot: ParameterSlot | None = None) -> FieldFilter:
    """Read `[not.]op.value`; with a slot the value is left to each request.

    Raises: BadQuery.
    """
    scan = Scanner(text, "filter")
    return parse_operation(scan, field, in_tree=False, slot=slot)


def is_filter(text: str) -> bool:
    """Return whether a value has the form of a filter (reads of functions: else it is an argument)."""
    rest = text[4:] if text.startswith("not.") else text
    match = _SEARCH.match(rest)
    operator = OPERATORS.get(match[1]) if match else None
    return operator is not None and match is not None and _takes_modifier(operator, match[2])


def _takes_modifier(operator: Operator, modifier: str | None) -> bool:
    """Return whether an operator knows what stands in parentheses behind it; nothing is always right."""
    if modifier is None:
        return True
    if operator.takes_config:
        return bool(modifier.strip())
    if modifier == _COLUMN:
        return operator.compares
    return operator.quantifiable and modifier in ("any", "all")


def parse_tree_path(key: str) -> tuple[Path, FieldPath]:
    """Read `a.b.column->x` as the path `(a, b)` and the field."""
    if _PLAIN_PATH.fullmatch(key):
        *path, name = key.split(".")
        return tuple(path), FieldPath(name)
    scan = Scanner(key, "tree path")
    names = [parse_name(scan)]
    while scan.accept("."):
        names.append(parse_name(scan))
    steps = parse_json_path(scan)
    return tuple(names[:-1]), FieldPath(names[-1], steps, parse_cast(scan))


def parse_logic_path(key: str) -> tuple[Path, str, bool]:
    """Read `a.not.or` as the path `(a,)`, the operator and whether it is negated."""
    scan = Scanner(key, "logic path")
    names = [parse_name(scan)]
    while scan.accept("."):
        names.append(parse_name(scan))
    operator = names.pop()
    if operator not in ("and", "or"):
        scan.fail('"."')  # `a->b.or`: a path of names cannot go through a column
    negated = bool(names) and names[-1] == "not"
    return tuple(names[:-1] if negated else names), operator, negated


def parse_logic(operator: str, negated: bool, text: str) -> Logic:
    """Read the value of `and=` / `or=`.

    Raises: BadQuery.
    """
    scan = Scanner(operator + text, "logic tree", shown=text)
    scan.position = len(operator)
    # What stands behind the closing parenthesis is not looked at, as in the original.
    return Logic(operator, negated, parse_branches(scan, 0, _leaf))


def parse_branches(scan: Scanner, depth: int, leaf: Leaf) -> tuple[Condition, ...]:
    """Read `(branch,branch,...)`; `leaf` reads a branch that is not a group."""
    if depth > MAX_DEPTH:
        scan.fail(f"at most {MAX_DEPTH} groups inside one another")
    scan.blanks()
    scan.expect("(")
    scan.blanks()
    branches: list[Condition] = []
    while True:
        branches.append(_branch(scan, depth, leaf))
        if not scan.comma():
            break
    scan.expect(")", '","', '")"')
    scan.blanks()
    return tuple(branches)


def _branch(scan: Scanner, depth: int, leaf: Leaf) -> Condition:
    start = scan.position
    negated = scan.accept("not.")
    group = parse_group(scan, depth, leaf, negated=negated)
    if group is not None:
        return group
    scan.position = start
    try:
        return leaf(scan)
    except BadQuery:
        if not negated:
            _refuse_unopened(scan, start)
            raise
    scan.position = start + len("not.")
    try:
        match = leaf(scan)
    except BadQuery:
        scan.position = start + len("not.")
        _refuse_unopened(scan, scan.position)
        scan.fail(_GROUPS)
    return replace(match, negated=not match.negated)


def _refuse_unopened(scan: Scanner, start: int) -> None:
    """Refuse `and` or `or` that neither opens a group nor begins a filter. Raises: BadQuery, then."""
    word = _OPENING.match(scan.text, start)
    if word:
        scan.position = word.end()
        scan.fail('"("')


def parse_group(scan: Scanner, depth: int, leaf: Leaf, *, negated: bool) -> Condition | None:
    """Read `and(...)`, `or(...)` or `relation(...)` if one stands here."""
    group = _GROUP.match(scan.text, scan.position)
    if group:
        scan.position = group.end(1)
        return Logic(group[1], negated, parse_branches(scan, depth + 1, leaf))
    if leaf is not _leaf or not _RELATED.match(scan.text, scan.position):
        return None
    otherwise = _no_group(scan, negated)
    name = parse_name(scan)
    hint = parse_name(scan) if scan.accept("!") else None
    return RelatedTest(name, hint, negated, parse_branches(scan, depth + 1, leaf), otherwise)


def _no_group(scan: Scanner, negated: bool) -> tuple[str, str] | None:
    """Return the refusal (message, details) of a misspelled `and` or `or`, for a name that turns out to mean nothing."""
    start = scan.position
    try:
        _refuse_unopened(scan, start)
        if negated:
            scan.fail(_GROUPS)
    except BadQuery as refusal:
        scan.position = start
        return refusal.message, str(refusal.details)
    return None


def _leaf(scan: Scanner) -> FieldFilter:
    field = parse_cast_field(scan, "negation operator (not)", _GROUPS)
    scan.expect(".")
    return parse_operation(scan, field, in_tree=True)


def parse_operation(
    scan: Scanner, field: FieldPath, *, in_tree: bool, slot: ParameterSlot | None = None
) -> FieldFilter:
    """Read `[not.]op.value` on a field."""
    negated = scan.accept("not.")
    match = _SEARCH.match(scan.text, scan.position)
    operator = OPERATORS.get(match[1]) if match else None
    if match is None or operator is None:
        scan.fail(*(() if negated else ('"not"',)), _OPERATOR)
    modifier = match[2]
    if not _takes_modifier(operator, modifier):
        scan.position += len(match[1])
        scan.fail('"."')
    scan.position = match.end()
    if modifier == _COLUMN and operator.compares:
        return FieldFilter(field, operator.name, _other_column(scan, in_tree), negated)
    name = operator.name
    if name == "in":
        return FieldFilter(field, name, _slotted(slot, in_list) or tuple(_list(scan)), negated)
    if name == "is":
        return FieldFilter(field, name, _is_word(scan, in_tree), negated)
    value = _slotted(slot, like_pattern if operator.is_pattern and not modifier else None) or _value(
        scan, in_tree
    )
    if operator.is_pattern and isinstance(value, str):
        value = value.replace("*", "%")
    if operator.takes_config:
        return FieldFilter(field, name, value, negated, config=modifier)
    return FieldFilter(field, name, value, negated, quantifier=modifier)


def _other_column(scan: Scanner, in_tree: bool) -> FieldPath:
    other = parse_cast_field(scan)
    if not in_tree and not scan.at_end:
        scan.fail("end of input")
    return other


def _slotted(slot: ParameterSlot | None, convert: object) -> ParameterSlot | None:
    return None if slot is None else ParameterSlot(slot.index, convert)  # type: ignore[arg-type]  # one of the converters below


def _is_word(scan: Scanner, in_tree: bool) -> str:
    start = scan.position
    word = _value(scan, in_tree).lower()
    if word not in IS_WORDS:
        scan.position = start
        scan.fail("isVal: (null, not_null, true, false, unknown)")
    return word


def _value(scan: Scanner, in_tree: bool) -> str:
    """Read the operand: the rest of the text, or up to `,` / `)` inside a tree."""
    if not in_tree:
        value, scan.position = scan.text[scan.position :], len(scan.text)
        return value
    array = scan.match(_ARRAY)
    return array[0] if array else _element(scan)


def _element(scan: Scanner) -> str:
    """Read text up to `,` / `)`; those may stand in it when the whole of it is quoted."""
    start = scan.position
    if scan.peek() == '"':
        try:
            value = parse_quoted(scan)
        except BadQuery:
            scan.position = start
        else:
            if scan.at_end or scan.peek() in (",", ")"):
                return value
            scan.position = start
    unquoted = scan.match(_UNQUOTED)
    return unquoted[0] if unquoted else ""


def _list(scan: Scanner) -> list[str]:
    """Read `(a,"b,c",d)`; `()` and one empty element are the empty list."""
    scan.expect("(")
    scan.blanks()
    items = []
    while True:
        items.append(_element(scan))
        if not scan.accept(","):
            break
    scan.expect(")", '","', '")"')
    scan.blanks()
    return [] if items == [""] else items


def in_list(text: str) -> bytes:
    """Convert the operand of `in.` as it stands in a URL to an array literal."""
    return array_literal(_list(Scanner(text, "filter"))).encode()
