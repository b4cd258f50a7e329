"""Build functions as fields: fields of the root types, and computed fields of rows. Pure. Source: docs/reference/graphql.md, section 12."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from schemas.numbers import parse_whole_number
from workers.graphql.model import FunctionArgument, FunctionField, ResultShape, ValueType
from workers.graphql.reflect import names
from workers.graphql.reflect.directives import NameDirective, read_name
from workers.graphql.reflect.entities import ReflectedEntity, RoleView
from workers.graphql.reflect.privileges import SELECT
from workers.graphql.reflect.rows import ReflectedFunction

_FOREIGN_SCHEMAS = frozenset({"graphql", "graphql_public", "auth", "extensions"})
_PAGING = frozenset({"first", "last", "before", "after", "offset", "filter", "orderBy"})
_TEXT_LITERAL = re.compile(r"'((?:[^']|'')*)'(?:::[^()']+(?:\(\d+\))?)?")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_INT_LIMIT = 2**31


def find_root_functions(view: RoleView, entities: dict[int, ReflectedEntity]) -> list[FunctionField]:
    """Return the functions that are fields of a root type, in the order of the search path.

    Overloaded functions are left out, also when they are in different schemas.
    """
    counts = Counter(row.name for row in view.snapshot.functions if row.schema in view.schemas)
    functions = []
    for row in _callable_functions(view):
        if counts[row.name] > 1 or row.is_variadic:
            continue
        arguments = _build_arguments(row, view)
        result = _function_by_result(row, view, entities)
        if arguments is None or result is None or view.values.is_enum(row.result):
            continue
        if result.shape is ResultShape.ROWS and any(argument.name in _PAGING for argument in arguments):
            continue
        functions.append(replace(result, arguments=arguments))
    return functions


def find_computed_fields(
    view: RoleView, entities: dict[int, ReflectedEntity]
) -> dict[int, dict[str, FunctionField]]:
    """Return the computed fields of each entity by name: functions whose only argument is a row of the entity."""
    by_row_type = {entity.row.row_type: entity for entity in entities.values()}
    fields: dict[int, dict[str, FunctionField]] = {}
    for row in _callable_functions(view):
        owner = by_row_type.get(row.types[0]) if len(row.types) == 1 and not row.is_variadic else None
        if owner is None or not _may_select_all_columns(view, owner):
            continue
        result = _function_by_result(row, view, entities)
        if result is not None:
            fields.setdefault(owner.row.oid, {})[result.name] = result
    return fields


def _callable_functions(view: RoleView) -> Iterator[ReflectedFunction]:
    for row in view.snapshot.functions:
        if (
            row.schema in view.schemas
            and row.schema not in _FOREIGN_SCHEMAS
            and view.rights.may_call(row.acl)
        ):
            yield row


def _may_select_all_columns(view: RoleView, owner: ReflectedEntity) -> bool:
    """Return whether the role may select every column, which Postgres requires to pass a row to a function."""
    if SELECT in view.rights.on_relation(owner.row.acl):
        return True
    columns = view.snapshot.columns.get(owner.row.oid, ())
    return all(SELECT in view.rights.granted(column.acl) for column in columns)


def _function_by_result(
    row: ReflectedFunction, view: RoleView, entities: dict[int, ReflectedEntity]
) -> FunctionField | None:
    """Return a function by its result, without arguments; None if the type of the result is not supported."""
    directive = read_name(row.comment)
    name = directive.name or names.function_name(row.name, inflect=view.inflects(row.schema))
    if not names.is_valid(name):
        return None
    target = entities.get(view.values.row_of(row.result))
    if target is not None:
        shape = ResultShape.ROWS if row.returns_set and row.rows != 1 else ResultShape.ROW
        return _build_function(row, view, name, directive, shape, target=target)
    if row.returns_set:
        return None
    value_type = view.values.find(row.result)
    if value_type is None or (value_type.is_list and value_type.enum is not None):
        return None
    return _build_function(row, view, name, directive, ResultShape.VALUE, value_type=value_type)


def _build_function(
    row: ReflectedFunction,
    view: RoleView,
    name: str,
    directive: NameDirective,
    shape: ResultShape,
    *,
    value_type: ValueType | None = None,
    target: ReflectedEntity | None = None,
) -> FunctionField:
    return FunctionField(
        name=name,
        sql=(row.schema, row.name),
        arguments=(),
        shape=shape,
        type=value_type,
        target=target.entity.sql if target is not None else None,
        returns_set=row.returns_set,
        is_volatile=row.is_volatile,
        description=directive.description,
        is_introspectable=view.is_introspectable(row.schema)
        and (target is None or target.entity.is_introspectable),
    )


def _build_arguments(row: ReflectedFunction, view: RoleView) -> tuple[FunctionArgument, ...] | None:
    """Return the arguments; None if one lacks a name, has a name that is invalid in GraphQL, or a type that is not supported."""
    inflect = view.inflects(row.schema)
    first_default = len(row.types) - row.default_count
    arguments: list[FunctionArgument] = []
    for index, (parameter, oid, default) in enumerate(row.inputs):
        value_type = view.values.find(oid)
        name = names.argument_name(parameter, inflect=inflect)
        if value_type is None or view.values.is_enum(oid) or not names.is_valid(name):
            return None
        is_required = index < first_default
        default_value = None if is_required or default is None else default_literal(default, value_type)
        arguments.append(FunctionArgument(name, parameter, value_type, is_required, default_value))
    has_twins = len({argument.name for argument in arguments}) < len(arguments)
    return None if has_twins else tuple(arguments)


def default_literal(expression: str, value_type: ValueType) -> str | None:
    """Return a default expression as a GraphQL literal; None if it is null or not a plain literal.

    `expression` is as Postgres prints it: `5`, `'abc'::text`, `'-1'::integer`, `true`. Strings are returned for the type
    `text` only, as in the original.
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
    """Return a number in digits, without an exponent and without trailing zeros."""
    digits = format(Decimal(repr(float(number))), "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
