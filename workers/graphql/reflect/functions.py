"""Functions as fields: of the roots, and computed fields of rows. Pure. Source: reference page "graphql", section 12."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from schemas.numbers import parse_whole_number
from workers.graphql.model import Argument, Function, Shape, ValueType
from workers.graphql.reflect import names
from workers.graphql.reflect.directives import NameDirective, read_name
from workers.graphql.reflect.entities import Found, View
from workers.graphql.reflect.privileges import SELECT
from workers.graphql.reflect.rows import FunctionRow

_FOREIGN_SCHEMAS = frozenset({"graphql", "graphql_public", "auth", "extensions"})
_PAGING = frozenset({"first", "last", "before", "after", "offset", "filter", "orderBy"})
_TEXT_LITERAL = re.compile(r"'((?:[^']|'')*)'(?:::[^()']+(?:\(\d+\))?)?")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_INT_LIMIT = 2**31


def find_root_functions(view: View, entities: dict[int, Found]) -> list[Function]:
    """Give the functions that may be fields of a root, in the order of the search path.

    Functions of one name hide each other, also those of several schemas.
    """
    counts = Counter(row.name for row in view.snapshot.functions if row.schema in view.spaces)
    found = []
    for row in _callable(view):
        if counts[row.name] > 1 or row.is_variadic:
            continue
        arguments = _arguments(row, view)
        result = _result(row, view, entities)
        if arguments is None or result is None or view.values.is_enum(row.result):
            continue
        if result.shape is Shape.ROWS and any(argument.name in _PAGING for argument in arguments):
            continue
        found.append(replace(result, arguments=arguments))
    return found


def find_computed_fields(view: View, entities: dict[int, Found]) -> dict[int, dict[str, Function]]:
    """Give the computed fields of each entity by name: functions whose only argument is its row."""
    by_row_type = {found.row.row_type: found for found in entities.values()}
    fields: dict[int, dict[str, Function]] = {}
    for row in _callable(view):
        owner = by_row_type.get(row.types[0]) if len(row.types) == 1 and not row.is_variadic else None
        if owner is None or not _is_whole(view, owner):
            continue
        result = _result(row, view, entities)
        if result is not None:
            fields.setdefault(owner.row.oid, {})[result.name] = result
    return fields


def _callable(view: View) -> Iterator[FunctionRow]:
    for row in view.snapshot.functions:
        if row.schema in view.spaces and row.schema not in _FOREIGN_SCHEMAS and view.rights.may_call(row.acl):
            yield row


def _is_whole(view: View, owner: Found) -> bool:
    """Tell whether the role may select each column, as one must to hand a row to a function."""
    if SELECT in view.rights.on_data(owner.row.acl):
        return True
    columns = view.snapshot.columns.get(owner.row.oid, ())
    return all(SELECT in view.rights.letters(column.acl) for column in columns)


def _result(row: FunctionRow, view: View, entities: dict[int, Found]) -> Function | None:
    """Make a function by what it gives, without arguments; None where that cannot appear."""
    directive = read_name(row.comment)
    name = directive.name or names.function_name(row.name, inflect=view.inflects(row.schema))
    if not names.is_valid(name):
        return None
    target = entities.get(view.values.row_of(row.result))
    if target is not None:
        shape = Shape.ROWS if row.returns_set and row.rows != 1 else Shape.ROW
        return _function(row, view, name, directive, shape, target=target)
    if row.returns_set:
        return None
    value_type = view.values.find(row.result)
    if value_type is None or (value_type.is_list and value_type.enum is not None):
        return None
    return _function(row, view, name, directive, Shape.VALUE, value_type=value_type)


def _function(
    row: FunctionRow,
    view: View,
    name: str,
    directive: NameDirective,
    shape: Shape,
    *,
    value_type: ValueType | None = None,
    target: Found | None = None,
) -> Function:
    return Function(
        name=name,
        sql=(row.schema, row.name),
        arguments=(),
        shape=shape,
        type=value_type,
        target=target.entity.sql if target is not None else None,
        returns_set=row.returns_set,
        is_volatile=row.is_volatile,
        description=directive.description,
        is_introspectable=view.is_introspectable(row.schema),
    )


def _arguments(row: FunctionRow, view: View) -> tuple[Argument, ...] | None:
    """Give the arguments; None where one has no name, a name GraphQL cannot spell, or a type that cannot be given."""
    inflect = view.inflects(row.schema)
    first_default = len(row.types) - row.default_count
    arguments: list[Argument] = []
    for place, (sql, oid, default) in enumerate(row.inputs):
        value_type = view.values.find(oid)
        name = names.argument_name(sql, inflect=inflect)
        if value_type is None or view.values.is_enum(oid) or not names.is_valid(name):
            return None
        is_required = place < first_default
        shown = None if is_required or default is None else literal(default, value_type)
        arguments.append(Argument(name, sql, value_type, is_required, shown))
    has_twins = len({argument.name for argument in arguments}) < len(arguments)
    return None if has_twins else tuple(arguments)


def literal(expression: str, value_type: ValueType) -> str | None:
    """Give a default expression as a GraphQL literal; None where it is no plain literal, or null.

    `expression` is as Postgres prints it: `5`, `'abc'::text`, `'-1'::integer`, `true`. Of strings only `text` is shown,
    as in the original.
    """
    text = _TEXT_LITERAL.fullmatch(expression)
    plain = text[1].replace("''", "'") if text else expression.strip("()")
    match value_type.scalar:
        case _ if value_type.is_list:
            return None
        case "String":
            return json.dumps(plain, ensure_ascii=False) if text and value_type.sql == "text" else None
        case "Boolean":
            return plain if plain in ("true", "false") else None
        case "Int":
            number = parse_whole_number(plain, least=1 - _INT_LIMIT, most=_INT_LIMIT - 1)
            return None if number is None else plain
        case "Float":
            return _decimal(plain) if _NUMBER.fullmatch(plain) else None
        case _:
            return None


def _decimal(number: str) -> str:
    """Give a number in digits, without an exponent and without zeros that say nothing."""
    shown = format(Decimal(repr(float(number))), "f")
    return shown.rstrip("0").rstrip(".") if "." in shown else shown
