"""The `order` parameter. Source: docs/reference/rest.md, sections 6, 9.5, 11."""

import re
from typing import NoReturn

from workers.rest.model import FieldPath, OrderTerm
from workers.rest.parse.lexer import Scanner, parse_field, parse_name

_DIRECTIONS = ("asc", "desc")
_NULLS = ("nullsfirst", "nullslast")
_PLAIN_TERM = re.compile(r"([\w$]+)(?:\.(asc|desc))?(?:\.nulls(first|last))?(?=,|\Z)")
"""A column's name with words behind it, as most terms are."""
_DESCENDING = {None: None, "asc": False, "desc": True}


def parse_order(text: str) -> tuple[OrderTerm, ...]:
    """Read terms such as `a.desc.nullslast,client(name)`.

    Raises: BadQuery.
    """
    scan = Scanner(text, "order")
    terms = []
    scan.blanks()
    while True:
        if plain := _PLAIN_TERM.match(text, scan.position):
            scan.position = plain.end()
            terms.append(OrderTerm(FieldPath(plain[1]), _DESCENDING[plain[2]], plain[3]))
        else:
            terms.append(_term(scan))
        if not scan.comma():
            break
    if not scan.at_end:
        _refuse(scan, terms[-1])
    return tuple(terms)


def _term(scan: Scanner) -> OrderTerm:
    start, relation = scan.position, None
    name = parse_name(scan)
    if scan.accept("("):
        relation = name
    else:
        scan.position = start
    field = parse_field(scan)
    if relation is not None:
        scan.expect(")")
    descending = nulls = None
    if scan.accept(".desc"):
        descending = True
    elif scan.accept(".asc"):
        descending = False
    if scan.accept(".nullsfirst"):
        nulls = "first"
    elif scan.accept(".nullslast"):
        nulls = "last"
    return OrderTerm(field, descending, nulls, relation)


def _refuse(scan: Scanner, term: OrderTerm) -> NoReturn:
    """Refuse what stands behind a term: at a dot, the words that could have followed it. Raises: BadQuery, always."""
    if term.nulls is not None or (scan.peek() != "." and term.descending is None):
        scan.fail('","', "end of input", quote="'")
    if not scan.accept("."):
        scan.fail("delimiter (.)", '","', "end of input", quote="'")
    words = _NULLS if term.descending is not None else (*_DIRECTIONS, *_NULLS)
    scan.fail_word(words)
