"""What compiling GraphQL costs: from document to statements, for all queries of the conformance cases that need no others.

    python -m tests.bench.graphql_planning

Prints, for typical documents over a schema of 20 tables: parse, plan, validate and write, all of it uncached, and the look-up of
a kept plan with its slots filled. Exit status 1 when a budget is missed; an insert converts its values, which is work, not look-up.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping

from tests.bench.table import Budget, Figures, add_record_option
from workers.graphql.compilation import StatementTemplate
from workers.graphql.model import (
    Entity,
    EntityColumn,
    Name,
    RelationField,
    RoleSchema,
    RootField,
    RootKind,
    ValueType,
)
from workers.graphql.parse.document import choose_operation, parse_document
from workers.graphql.parse.limits import OperationLimits
from workers.graphql.role import RoleState
from workers.graphql.validation.validator import Validator

_LIMITS = OperationLimits()
_TYPES = [ValueType("String", "text"), ValueType("Int", "integer"), ValueType("Datetime", "timestamp")]

DOCUMENTS: dict[str, tuple[str, dict[str, object]]] = {
    "10 rows": ("{ t1Collection(first: 10) { edges { node { id f0 f1 f2 } } } }", {}),
    "by key": ("query($id: Int!) { t1ByPk(id: $id) { id f0 f1 f2 } }", {"id": 7}),
    "nested 3 levels": (
        "{ t1Collection(first: 10) { edges { node { id f0 t2Collection(first: 5) { edges { node { id f0 "
        "t3Collection(first: 5) { edges { node { id f0 } } } } } } } } } }",
        {},
    ),
    "filtered page": (
        "query($n: Int!, $after: Cursor, $f: T1Filter) { t1Collection(first: $n, after: $after, filter: $f, "
        "orderBy: [{f0: AscNullsLast}]) { pageInfo { hasNextPage endCursor } edges { cursor node { ...Row } } } } "
        "fragment Row on T1 { id nodeId f0 f1 f2 f3 }",
        {"n": 20, "after": "WyJhIiwgMV0=", "f": {"f0": {"like": "a%"}, "or": [{"f1": {"gt": 1}}, {"f1": {"is": "NULL"}}]}},
    ),
    "insert of 100": (
        "mutation($o: [T1InsertInput!]!) { insertIntoT1Collection(objects: $o) { affectedCount records { id } } }",
        {"o": [{"id": n, "f0": "a", "f1": n} for n in range(100)]},
    ),
}  # fmt: skip


BUDGETS = (
    *(Budget(f"{name}: uncached", 2000) for name in DOCUMENTS),
    *(Budget(f"{name}: cached", 10) for name in DOCUMENTS if not name.startswith("insert")),
)


def main() -> int:
    """Measure and print; 1 where a budget is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_record_option(parser)
    options, figures, schema = parser.parse_args(), Figures("graphql_planning", BUDGETS), _schema()
    validator = Validator(schema)
    assert validator.schema  # described before the first document, not with each
    print(f"{'':18}{'parse':>9}{'plan+sql':>10}{'uncached':>10}{'cached':>9}  us")
    for name, (text, variables) in DOCUMENTS.items():
        parse = _best(lambda text=text: parse_document(text, _LIMITS))  # type: ignore[misc]  # bound at once
        document = parse_document(text, _LIMITS)
        choose_operation(document, None)

        def compile_it(text: str = text, variables: Mapping[str, object] = variables) -> object:
            role = RoleState(schema, _LIMITS, lambda text: parse_document(text, _LIMITS))
            role.validator = validator
            return role.compile(role.operation(text, None), variables)

        uncached = _best(compile_it)
        kept = RoleState(schema, _LIMITS, lambda text: parse_document(text, _LIMITS))
        kept.compile(kept.operation(text, None), variables)

        def look_up(text: str = text, variables: Mapping[str, object] = variables) -> None:
            for one in kept.compile(kept.operation(text, None), variables).fields:  # noqa: B023 - called at once
                assert isinstance(one.work, StatementTemplate)
                one.work.statement(variables)

        cached = _best(look_up, 300)
        print(f"{name:18}{parse:9.0f}{uncached - parse:10.0f}{uncached:10.0f}{cached:9.1f}")
        figures.add(f"{name}: uncached", uncached, "us")
        figures.add(f"{name}: cached", cached, "us")
    return 0 if figures.finish(options.record) else 1


def _best(work: Callable[[], object], rounds: int = 30) -> float:
    """Give the best time of some rounds, in microseconds: what the work costs when nobody disturbs it."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times) * 1e6


def _schema() -> RoleSchema:
    """Make a schema of 20 tables, each the parent of the next."""
    entities: dict[Name, Entity] = {}
    query: dict[str, RootField] = {}
    mutation: dict[str, RootField] = {}
    for n in range(20):
        name = ("public", f"t{n}")
        columns = {"id": EntityColumn("id", "id", _TYPES[1], is_nullable=False, is_insertable=True)}
        columns |= {
            f"f{m}": EntityColumn(f"f{m}", f"f{m}", _TYPES[m % 3], True, True, True, True) for m in range(8)
        }
        child = RelationField(
            f"t{n + 1}Collection", ("public", f"t{(n + 1) % 20}"), (("id", "f1"),), is_many=True
        )
        entities[name] = Entity(
            f"T{n}",
            name,
            "r",
            columns,
            ("id",),
            relations={child.name: child},
            has_key_lookup=True,
            is_insertable=True,
        )
        query[f"t{n}Collection"] = RootField(f"t{n}Collection", RootKind.COLLECTION, name)
        query[f"t{n}ByPk"] = RootField(f"t{n}ByPk", RootKind.BY_KEY, name)
        mutation[f"insertIntoT{n}Collection"] = RootField(f"insertIntoT{n}Collection", RootKind.INSERT, name)
    return RoleSchema("anyone", 1, entities, query, mutation)


if __name__ == "__main__":
    sys.exit(main())
