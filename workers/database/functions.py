"""What functions are to the schema cache: calls, computed fields, representations, media handlers. Pure.

Source: reference page "rest", sections 7.2, 14, 15 and 23.
"""

from collections import defaultdict
from collections.abc import Iterable

from workers.database.catalog import (
    Argument,
    ComputedField,
    Function,
    MediaHandler,
    Name,
    Representations,
    Returns,
)
from workers.database.catalog_rows import (
    ComputedRow,
    FunctionRow,
    MediaHandlerRow,
    RepresentationRow,
)

ISOLATION = "default_transaction_isolation"

_INPUT = frozenset("ibv")
_OUTPUT = frozenset("obt")
_BODY_TYPES = frozenset({"bytea", "json", "jsonb", "text", "xml"})
_UNBOUNDED = {
    "character": "pg_catalog.bpchar",
    "character[]": "pg_catalog.bpchar[]",
    "bit": 'pg_catalog."bit"',
    "bit[]": 'pg_catalog."bit"[]',
}
"""A cast to `character` keeps one character, to `bit` one bit; these spellings keep all."""


def find_functions(rows: Iterable[FunctionRow]) -> dict[Name, tuple[Function, ...]]:
    """Give the callable functions with their overloads."""
    found: dict[Name, list[Function]] = defaultdict(list)
    for row in rows:
        arguments = _arguments(row)
        if _is_callable(arguments):
            found[row.schema, row.name].append(_function(row, arguments))
    return {name: tuple(overloads) for name, overloads in found.items()}


def _arguments(row: FunctionRow) -> tuple[Argument, ...]:
    given = [each for each in row.arguments if each.mode in _INPUT]
    first_optional = len(given) - row.defaults
    return tuple(
        Argument(
            name=each.name,
            type=each.type,
            is_required=position < first_optional,
            is_variadic=each.mode == "v",
            unbounded_type=_UNBOUNDED.get(each.type, ""),
        )
        for position, each in enumerate(given)
    )


def _is_callable(arguments: tuple[Argument, ...]) -> bool:
    if len(arguments) == 1 and not arguments[0].name:
        return arguments[0].type in _BODY_TYPES
    return all(each.name for each in arguments)


def _function(row: FunctionRow, arguments: tuple[Argument, ...]) -> Function:
    settings = tuple(_setting(each) for each in row.settings or ())
    composite = (row.composite_schema, row.composite_name)
    is_row = row.composite_relation_kind not in (None, "c")
    isolation = dict(settings).get(ISOLATION)
    return Function(
        schema=row.schema,
        name=row.name,
        arguments=arguments,
        returns=_returns(row),
        returns_set=row.returns_set,
        return_type=_known(composite) or (row.result_schema, row.result_name),
        returned_relation=_known(composite) if is_row else None,
        is_composite_alias=row.result_kind == "d" and row.composite_name is not None,
        volatility=row.volatility,
        has_variadic=any(each.is_variadic for each in arguments),
        isolation=isolation.lower() if isolation else None,
        settings=settings,
        comment=row.comment,
    )


def _returns(row: FunctionRow) -> Returns:
    if row.composite_name is not None or any(each.mode in _OUTPUT for each in row.arguments):
        return Returns.COMPOSITE
    is_void = (row.result_schema, row.result_name) == ("pg_catalog", "void")
    return Returns.VOID if is_void else Returns.SCALAR


def _setting(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _known(name: tuple[str | None, str | None]) -> Name | None:
    schema, own = name
    return None if schema is None or own is None else (schema, own)


def find_computed_fields(rows: Iterable[ComputedRow]) -> dict[Name, tuple[ComputedField, ...]]:
    """Give the computed fields by relation: functions over its row that return one value, no row of a relation."""
    found: dict[Name, list[ComputedField]] = defaultdict(list)
    for row in rows:
        if row.target_name is None and not row.returns_set:
            relation = (row.origin_schema, row.origin_name)
            found[relation].append(ComputedField((row.schema, row.name), relation, row.type))
    return {relation: tuple(fields) for relation, fields in found.items()}


def find_representations(rows: Iterable[RepresentationRow]) -> Representations:
    """Give the conversions of domains."""
    directions: dict[str, dict[str, Name]] = {"to_json": {}, "from_json": {}, "from_text": {}}
    for row in rows:
        directions[row.direction][row.domain] = (row.schema, row.name)
    return Representations(**directions)


def find_media_handlers(rows: Iterable[MediaHandlerRow]) -> tuple[MediaHandler, ...]:
    """Give the media handlers."""
    return tuple(
        MediaHandler(
            media_type=row.media_type,
            function=(row.schema, row.name),
            relation=_known((row.relation_schema, row.relation_name)),
            is_scalar=row.is_scalar,
        )
        for row in rows
    )
