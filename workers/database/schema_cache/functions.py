"""Functions in the schema cache: callable functions, computed fields, representations, media handlers. Pure.

Source: docs/reference/rest.md, sections 7.2, 14, 15 and 23.
"""

from collections import defaultdict
from collections.abc import Iterable

from workers.database.schema_cache.catalog import (
    CatalogArgument,
    CatalogFunction,
    ComputedField,
    MediaHandler,
    Name,
    Representations,
    Returns,
)
from workers.database.schema_cache.catalog_rows import (
    CatalogFunctionRow,
    ComputedRow,
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
"""A cast to `character` truncates to one character, to `bit` to one bit; casts to these types do not truncate."""


def find_functions(rows: Iterable[CatalogFunctionRow]) -> dict[Name, tuple[CatalogFunction, ...]]:
    """Return the callable functions with their overloads."""
    functions: dict[Name, list[CatalogFunction]] = defaultdict(list)
    for row in rows:
        arguments = _arguments(row)
        if _is_callable(arguments):
            functions[row.schema, row.name].append(_function(row, arguments))
    return {name: tuple(overloads) for name, overloads in functions.items()}


def _arguments(row: CatalogFunctionRow) -> tuple[CatalogArgument, ...]:
    inputs = [argument for argument in row.arguments if argument.mode in _INPUT]
    first_optional = len(inputs) - row.defaults
    return tuple(
        CatalogArgument(
            name=argument.name,
            type=argument.type,
            is_required=position < first_optional,
            is_variadic=argument.mode == "v",
            unbounded_type=_UNBOUNDED.get(argument.type, ""),
        )
        for position, argument in enumerate(inputs)
    )


def _is_callable(arguments: tuple[CatalogArgument, ...]) -> bool:
    if len(arguments) == 1 and not arguments[0].name:
        return arguments[0].type in _BODY_TYPES
    return all(argument.name for argument in arguments)


def _function(row: CatalogFunctionRow, arguments: tuple[CatalogArgument, ...]) -> CatalogFunction:
    settings = tuple(_setting(text) for text in row.settings or ())
    composite = (row.composite_schema, row.composite_name)
    is_row = row.composite_relation_kind not in (None, "c")
    isolation = dict(settings).get(ISOLATION)
    return CatalogFunction(
        schema=row.schema,
        name=row.name,
        arguments=arguments,
        returns=_returns(row),
        returns_set=row.returns_set,
        return_type=_complete_name(composite) or (row.result_schema, row.result_name),
        returned_relation=_complete_name(composite) if is_row else None,
        is_composite_alias=row.result_kind == "d" and row.composite_name is not None,
        volatility=row.volatility,
        isolation=isolation.lower() if isolation else None,
        settings=settings,
        comment=row.comment,
    )


def _returns(row: CatalogFunctionRow) -> Returns:
    if row.composite_name is not None or any(argument.mode in _OUTPUT for argument in row.arguments):
        return Returns.COMPOSITE
    is_void = (row.result_schema, row.result_name) == ("pg_catalog", "void")
    return Returns.VOID if is_void else Returns.SCALAR


def _setting(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _complete_name(name: tuple[str | None, str | None]) -> Name | None:
    schema, local = name
    return None if schema is None or local is None else (schema, local)


def find_computed_fields(rows: Iterable[ComputedRow]) -> dict[Name, tuple[ComputedField, ...]]:
    """Return the computed fields by relation: functions of its row that return one value, not a row of a relation."""
    fields: dict[Name, list[ComputedField]] = defaultdict(list)
    for row in rows:
        if row.target_name is None and not row.returns_set:
            relation = (row.origin_schema, row.origin_name)
            fields[relation].append(ComputedField((row.schema, row.name), relation, row.type))
    return {relation: tuple(of_relation) for relation, of_relation in fields.items()}


def find_representations(rows: Iterable[RepresentationRow]) -> Representations:
    """Return the conversions between domains and json or text."""
    directions: dict[str, dict[str, Name]] = {"to_json": {}, "from_json": {}, "from_text": {}}
    for row in rows:
        directions[row.direction][row.domain] = (row.schema, row.name)
    return Representations(**directions)


def find_media_handlers(rows: Iterable[MediaHandlerRow]) -> tuple[MediaHandler, ...]:
    """Return the media handlers."""
    return tuple(
        MediaHandler(
            media_type=row.media_type,
            function=(row.schema, row.name),
            relation=_complete_name((row.relation_schema, row.relation_name)),
            is_scalar=row.is_scalar,
            base_type=row.base_type,
        )
        for row in rows
    )
