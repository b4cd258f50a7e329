"""Plans of nested inserts: their order, and which values refer to earlier inserts."""

from dataclasses import replace

import pytest

from tests.workers.graphql.plan import small_schema
from workers.graphql.model import Entity, RoleSchema
from workers.graphql.parse.document import choose_operation, parse_document
from workers.graphql.parse.limits import OperationLimits
from workers.graphql.plan.conditions import Operand
from workers.graphql.plan.inputs import PlanDependencies
from workers.graphql.plan.operation import plan_operation
from workers.graphql.plan.tree import InsertedValue, InsertPlan, NestedInsertPlan, RootPlan

_BLOGS, _MANY_RELATIONS = "blogCollection", tuple(f"blogs{number}" for number in range(99))


def insertable(entity: Entity) -> Entity:
    columns = {name: replace(column, is_insertable=True) for name, column in entity.columns.items()}
    relations = dict(entity.relations)
    if _BLOGS in relations:
        relations |= {name: replace(relations[_BLOGS], name=name) for name in _MANY_RELATIONS}
    return replace(entity, columns=columns, relations=relations, is_insertable=True)


SCHEMA: RoleSchema = replace(
    small_schema.schema,
    entities={name: insertable(entity) for name, entity in small_schema.schema.entities.items()},
    mutation={
        **small_schema.schema.mutation,
        "insertIntoBlogCollection": replace(
            small_schema.schema.mutation["insertIntoAccountCollection"],
            name="insertIntoBlogCollection",
            entity=small_schema.BLOG,
        ),
    },
)


def planned(field: str) -> RootPlan:
    work = planned_or_failed(f"mutation {{ insertInto{field} {{ affectedCount }} }}", {})
    assert isinstance(work, NestedInsertPlan | InsertPlan), work
    return work


def planned_owner(owner: dict[str, object]) -> object:
    """Return the plan of an insert of one blog whose owner is a variable."""
    text = "mutation ($owner: AccountInsertInput!) { insertIntoBlogCollection(objects: [{owner: $owner}]) { affectedCount } }"
    return planned_or_failed(text, {"owner": owner})


def planned_or_failed(text: str, variables: dict[str, object]) -> object:
    document = parse_document(text, OperationLimits())
    operation = choose_operation(document, None)
    plan = plan_operation(document, operation, SCHEMA, variables, OperationLimits(), PlanDependencies())
    return plan.fields[0].work


def test_rows_that_are_referred_to_come_first() -> None:
    plan = planned("BlogCollection(objects: [{id: 1, ownerId: 4}, {id: 2, owner: {id: 7}}])")

    assert isinstance(plan, NestedInsertPlan)
    assert [one.table for one in plan.inserts] == [small_schema.ACCOUNT, small_schema.BLOG]
    assert plan.root == 1
    assert plan.inserts[0].returned_columns == ("id",)
    assert plan.inserts[1].columns == ("id", "owner_id")
    assert plan.inserts[1].rows == (
        (Operand(b"1", "integer"), Operand(b"4", "integer")),
        (Operand(b"2", "integer"), InsertedValue(0, 0, "id", "integer")),
    )


def test_rows_that_refer_come_after_and_know_whose_they_are() -> None:
    plan = planned("AccountCollection(objects: [{id: 1}, {id: 2, blogCollection: [{id: 5}, {id: 6}]}])")

    assert isinstance(plan, NestedInsertPlan)
    assert [one.table for one in plan.inserts] == [small_schema.ACCOUNT, small_schema.BLOG]
    assert (plan.root, plan.key) == (0, (("id", "integer"),))
    assert [row[1] for row in plan.inserts[1].rows] == [InsertedValue(0, 1, "id", "integer")] * 2


def test_columns_that_some_rows_do_not_name_take_their_default() -> None:
    plan = planned('AccountCollection(objects: [{id: 1, email: "x"}, {id: 2, blogCollection: [{id: 5}]}])')

    assert isinstance(plan, NestedInsertPlan)
    assert plan.inserts[0].rows[1] == (Operand(b"2", "integer"), None)


def test_an_insert_whose_relations_are_empty_makes_only_its_own_rows() -> None:
    plan = planned("AccountCollection(objects: [{id: 1, blogCollection: []}, {id: 2, blogCollection: null}])")

    assert isinstance(plan, NestedInsertPlan)
    assert [one.table for one in plan.inserts] == [small_schema.ACCOUNT]


def test_an_insert_without_related_objects_stays_as_it_was() -> None:
    assert isinstance(planned("AccountCollection(objects: [{id: 1}])"), InsertPlan)


@pytest.mark.parametrize(
    ("most", "more"),
    [
        ({_BLOGS: [{"id": 1}] * 9_998}, {_BLOGS: [{"id": 1}] * 9_999}),
        (
            {name: [{"id": 1}] for name in _MANY_RELATIONS[:98]},
            {name: [{"id": 1}] for name in _MANY_RELATIONS},
        ),
    ],
)
def test_objects_in_variables_are_bounded(most: dict[str, object], more: dict[str, object]) -> None:
    assert isinstance(planned_owner(most), NestedInsertPlan)
    assert "at most 100 relations and 10000 rows" in str(planned_owner(more))
