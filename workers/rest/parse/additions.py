"""Parameters beyond the standard grammar: `distinct`, `having`, `key`, `cursor`, `nested`.

A value of theirs never has the form of a filter, so columns of these names stay filterable (`key=eq.x`).
Source: docs/rest-additions.md.
"""

import base64

import msgspec
from msgspec.structs import replace

from workers.rest.errors.parse import BadQuery
from workers.rest.model import Condition, FieldFilter, FieldPath, PageCursor
from workers.rest.parse.filters import parse_group, parse_operation
from workers.rest.parse.lexer import Scanner, parse_cast_field, parse_name
from workers.rest.parse.select import parse_aggregate

ADDED_ANYWHERE = frozenset({"distinct", "having"})
"""Those that may stand behind the path of an embedded resource."""
ADDED = frozenset({"distinct", "having", "key", "cursor", "nested"})
_cursor = msgspec.json.Decoder(tuple[bool, list[str | None]])


def parse_distinct(text: str) -> tuple[FieldPath, ...]:
    """Read `true` (whole rows, given as no fields) or the fields in which the rows must differ. Raises: BadQuery."""
    if text == "true":
        return ()
    scan = Scanner(text, "distinct parameter")
    fields = []
    while True:
        scan.blanks()
        fields.append(FieldPath(parse_name(scan)))
        scan.blanks()
        if not scan.accept(","):
            break
    if not scan.at_end:
        scan.fail('","', "end of input")
    return tuple(fields)


def parse_nested(text: str | None) -> bool:
    """Read whether the body holds related rows as well. Raises: BadQuery."""
    if text not in (None, "true", "false"):
        raise BadQuery(f'"failed to parse nested parameter ({text})"', "nested is true or false")
    return text == "true"


def parse_cursor(text: str) -> PageCursor:
    """Read a cursor as `links.py` writes it. Raises: BadQuery."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        is_backward, values = _cursor.decode(data)
    except (ValueError, msgspec.DecodeError, RecursionError):
        raise BadQuery(
            "The cursor is not one of ours", "Take it from the Link header of the page before, unchanged"
        ) from None
    return PageCursor(tuple(values), is_backward)


def parse_having(text: str) -> Condition:
    """Read a condition on aggregates: `amount.sum().gt.100`, `or(count().gt.3,...)`. Raises: BadQuery."""
    scan = Scanner(text, "having parameter")
    negated = scan.accept("not.")  # a column named so goes in quotes
    condition = parse_group(scan, 0, _leaf, negated=negated)
    if condition is not None:
        if not scan.at_end:
            scan.fail("end of input")
        return condition
    test = _condition(scan, in_tree=False)
    return replace(test, negated=not test.negated) if negated else test


def _leaf(scan: Scanner) -> FieldFilter:
    negated = scan.accept("not.")
    test = _condition(scan, in_tree=True)
    return replace(test, negated=not test.negated) if negated else test


def _condition(scan: Scanner, *, in_tree: bool) -> FieldFilter:
    if scan.accept("count()"):
        field, aggregate = FieldPath("*"), "count"
    else:
        field = parse_cast_field(scan)
        values = parse_aggregate(scan)
        if values is None:
            raise BadQuery(
                f'"failed to parse having parameter ({scan.text})"',
                "having compares aggregates: count(), amount.sum(), amount.avg(), amount.min(), amount.max()",
            )
        aggregate = values
    scan.expect(".")
    test = parse_operation(scan, field, in_tree=in_tree)
    return FieldFilter(
        test.field, test.operator, test.operand, test.negated, test.quantifier, test.config, aggregate
    )
