"""Conditions against the catalog: columns against columns, casts, tests of related rows."""

import pytest

from tests.workers.rest.plan.asking import plan
from workers.database.schema_cache.catalog import ComputedRelationship, Relationship
from workers.rest.errors.parse import BadQuery
from workers.rest.errors.plan import AmbiguousRelationship, NoRelationship, NotEmbedded
from workers.rest.model import PlannedCondition, PlannedField, PlannedFilter, PlannedLogic, PlannedRelated


def condition(target: str) -> PlannedCondition:
    found = plan("GET", target).read.where[0]
    return found.branches[0] if isinstance(found, PlannedLogic) else found


def related(target: str) -> PlannedRelated:
    found = condition(target)
    assert isinstance(found, PlannedRelated)
    return found


def test_a_filter_keeps_all_that_was_asked() -> None:
    assert condition("/projects?words=not.fts(german).cat") == PlannedFilter(
        PlannedField("words", is_tsvector=True), "fts", "cat", negated=True, config="german"
    )
    assert condition("/projects?id=gt(any).{1,2}") == PlannedFilter(
        PlannedField("id"), "gt", "{1,2}", quantifier="any"
    )


def test_both_sides_are_resolved() -> None:
    found = condition("/projects?shout=eq(col).meta->>a")

    assert isinstance(found, PlannedFilter)
    assert found.field.function == ("public", "shout")
    assert isinstance(found.operand, PlannedField)
    assert found.operand.is_json


@pytest.mark.parametrize(
    ("target", "source", "depth"),
    [
        ("/projects?and=(clients(name.eq.x))", ("public", "clients"), 0),
        ("/projects?and=(tasks(users(name.eq.x)))", ("public", "tasks"), 0),
        ("/projects?and=(client_id(name.eq.x))", ("public", "clients"), 0),
        ("/orders?and=(addresses!billing(street.eq.x))", ("public", "addresses"), 0),
        ("/projects?and=(lead(name.eq.x))", ("public", "lead"), 0),
        ("/users?and=(tasks(name.eq.x))", ("public", "tasks"), 0),
    ],
)
def test_related_rows_are_found_by_relationship(target: str, source: tuple[str, str], depth: int) -> None:
    found = related(target)

    assert (found.source, found.alias, found.negated) == (source, f"hw_related_{depth}", False)


def test_an_embed_s_alias_names_its_relationship() -> None:
    found = related("/projects?select=*,c:clients(*)&and=(not.c(name.eq.x))")

    assert isinstance(found.relationship, Relationship)
    assert (found.relationship.target[1], found.negated) == ("clients", True)


def test_tests_within_tests_have_names_of_their_own() -> None:
    inner = related("/projects?and=(tasks(users(name.eq.x)))").where[0]

    assert isinstance(inner, PlannedRelated)
    assert inner.alias == "hw_related_1"
    assert isinstance(related("/projects?and=(lead(id.eq.1))").relationship, ComputedRelationship)


@pytest.mark.parametrize(
    ("target", "refusal"),
    [
        ("/projects?and=(nowhere(id.eq.1))", NoRelationship),
        ("/projects?and=(users(id.eq.1))", NoRelationship),
        ("/projects?and=(clients!wrong(id.eq.1))", NoRelationship),
        ("/orders?and=(addresses(id.eq.1))", AmbiguousRelationship),
        ("/projects?and=(tasks(nowhere(id.eq.1)))", NoRelationship),
        ("/rpc/pairs?n=1&and=(clients(id.eq.1))", NotEmbedded),
        ("/projects?and=(ord(id.eq.1,id.eq.2),id.eq.3)", BadQuery),
        ("/projects?or=(id.eq.1,not.xor(id.eq.2,id.eq.3))", BadQuery),
        ("/projects?and=(ord!wrong(id.eq.1))", NoRelationship),
    ],
)
def test_rows_that_are_not_related_cannot_be_asked_for(target: str, refusal: type[Exception]) -> None:
    with pytest.raises(refusal):
        plan("GET", target)


def test_rows_to_change_may_be_chosen_by_related_rows() -> None:
    write = plan("DELETE", "/projects?or=(clients(name.eq.x),id.eq.1)").write

    assert write is not None
    tree = write.where[0]
    assert isinstance(tree, PlannedLogic)
    assert isinstance(tree.branches[0], PlannedRelated)
