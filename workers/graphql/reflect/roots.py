"""The fields of Query and Mutation. Pure. Source: reference page "graphql", sections 4, 7, 12, 14 and 17."""

from collections.abc import Iterable, Iterator

from workers.graphql.model import Entity, Function, RootField, RootKind
from workers.graphql.reflect.names import lower_first


def query_fields(entities: Iterable[Entity], functions: Iterable[Function]) -> dict[str, RootField]:
    """Give the fields of Query by name: of tables, then functions that no table keeps out, then second spellings."""
    known = list(entities)
    aliases = (
        RootField(lower_first(entity.name), RootKind.BY_KEY, entity.sql, is_alias=True)
        for entity in known
        if entity.has_key_lookup
    )
    calls = _calls(function for function in functions if not function.is_volatile)
    return _first([RootField("node", RootKind.NODE), *_of_query(known), *calls, *aliases])


def mutation_fields(entities: Iterable[Entity], functions: Iterable[Function]) -> dict[str, RootField]:
    """Give the fields of Mutation by name, likewise; an empty dict where there is nothing to change."""
    known = list(entities)
    calls = _calls(function for function in functions if function.is_volatile)
    return _first([*_of_mutation(known), *calls, *_other_mutations(known)])


def _of_query(entities: Iterable[Entity]) -> Iterator[RootField]:
    for entity in entities:
        own = lower_first(entity.name)
        yield RootField(f"{own}Collection", RootKind.COLLECTION, entity.sql)
        if entity.has_key_lookup:
            yield RootField(f"{own}ByPk", RootKind.BY_KEY, entity.sql)


def _of_mutation(entities: Iterable[Entity]) -> Iterator[RootField]:
    for entity in entities:
        if entity.is_insertable:
            yield RootField(f"insertInto{entity.name}Collection", RootKind.INSERT, entity.sql)
        if entity.is_updatable:
            yield RootField(f"update{entity.name}Collection", RootKind.UPDATE, entity.sql)
        if entity.is_deletable:
            yield RootField(f"deleteFrom{entity.name}Collection", RootKind.DELETE, entity.sql)


def _other_mutations(entities: Iterable[Entity]) -> Iterator[RootField]:
    """Give the spellings of the seed: `insert<Table>Collection`, and the type's name with a capital letter."""
    for entity in entities:
        for name in dict.fromkeys((entity.name, entity.name[:1].upper() + entity.name[1:])):
            if entity.is_insertable:
                yield RootField(f"insert{name}Collection", RootKind.INSERT, entity.sql, is_alias=True)
                yield RootField(f"insertInto{name}Collection", RootKind.INSERT, entity.sql, is_alias=True)
            if entity.is_updatable:
                yield RootField(f"update{name}Collection", RootKind.UPDATE, entity.sql, is_alias=True)
            if entity.is_deletable:
                yield RootField(f"deleteFrom{name}Collection", RootKind.DELETE, entity.sql, is_alias=True)


def _calls(functions: Iterable[Function]) -> Iterator[RootField]:
    return (RootField(function.name, RootKind.CALL, function=function) for function in functions)


def _first(fields: Iterable[RootField]) -> dict[str, RootField]:
    """Give the fields by name; of several with one name the first."""
    found: dict[str, RootField] = {}
    for field in fields:
        found.setdefault(field.name, field)
    return found
