"""Build the fields of Query and Mutation. Pure. Source: docs/reference/graphql.md, sections 4, 7, 12, 14 and 17."""

from collections.abc import Iterable, Iterator

from workers.graphql.model import Entity, FunctionField, RootField, RootKind
from workers.graphql.reflect.names import lower_first


def query_fields(entities: Iterable[Entity], functions: Iterable[FunctionField]) -> dict[str, RootField]:
    """Return the fields of Query by name. Of several with one name: those of tables, then functions, then aliases."""
    entity_list = [entity for entity in entities if entity.primary_key]
    aliases = (
        RootField(lower_first(entity.name), RootKind.BY_KEY, entity.sql, is_alias=True)
        for entity in entity_list
        if entity.has_key_lookup
    )
    calls = _call_fields(function for function in functions if not function.is_volatile)
    return _first_by_name([RootField("node", RootKind.NODE), *_query_roots(entity_list), *calls, *aliases])


def mutation_fields(entities: Iterable[Entity], functions: Iterable[FunctionField]) -> dict[str, RootField]:
    """Return the fields of Mutation by name, with the same precedence; empty if the role cannot write anything."""
    entity_list = list(entities)
    calls = _call_fields(function for function in functions if function.is_volatile)
    return _first_by_name([*_mutation_roots(entity_list), *calls, *_mutation_aliases(entity_list)])


def _query_roots(entities: Iterable[Entity]) -> Iterator[RootField]:
    for entity in entities:
        name = lower_first(entity.name)
        yield RootField(f"{name}Collection", RootKind.COLLECTION, entity.sql)
        if entity.has_key_lookup:
            yield RootField(f"{name}ByPk", RootKind.BY_KEY, entity.sql)


def _mutation_roots(entities: Iterable[Entity]) -> Iterator[RootField]:
    for entity in entities:
        if entity.is_insertable:
            yield RootField(f"insertInto{entity.name}Collection", RootKind.INSERT, entity.sql)
        if entity.is_updatable:
            yield RootField(f"update{entity.name}Collection", RootKind.UPDATE, entity.sql)
        if entity.is_deletable:
            yield RootField(f"deleteFrom{entity.name}Collection", RootKind.DELETE, entity.sql)


def _mutation_aliases(entities: Iterable[Entity]) -> Iterator[RootField]:
    """Yield aliases: `insert<Table>Collection`, and all names with the type's first character in upper case."""
    for entity in entities:
        for name in dict.fromkeys((entity.name, entity.name[:1].upper() + entity.name[1:])):
            if entity.is_insertable:
                yield RootField(f"insert{name}Collection", RootKind.INSERT, entity.sql, is_alias=True)
                yield RootField(f"insertInto{name}Collection", RootKind.INSERT, entity.sql, is_alias=True)
            if entity.is_updatable:
                yield RootField(f"update{name}Collection", RootKind.UPDATE, entity.sql, is_alias=True)
            if entity.is_deletable:
                yield RootField(f"deleteFrom{name}Collection", RootKind.DELETE, entity.sql, is_alias=True)


def _call_fields(functions: Iterable[FunctionField]) -> Iterator[RootField]:
    return (RootField(function.name, RootKind.CALL, function=function) for function in functions)


def _first_by_name(fields: Iterable[RootField]) -> dict[str, RootField]:
    """Return the fields by name. Of several with one name, the first."""
    by_name: dict[str, RootField] = {}
    for field in fields:
        by_name.setdefault(field.name, field)
    return by_name
