"""The types of a role's schema."""

import pytest

from tests.workers.graphql.library import READER, UNPRIVILEGED, schema_for
from workers.graphql.introspection.describe import describe
from workers.graphql.introspection.types import TypeKind, Wrapped


def _told(reference):
    if isinstance(reference, Wrapped):
        inner = _told(reference.of)
        return f"{inner}!" if reference.kind is TypeKind.NON_NULL else f"[{inner}]"
    return reference


def _members(described, name):
    return {member.name: _told(member.type) for member in described.types[name].members}


@pytest.fixture(scope="module")
def described(snapshot):
    return describe(schema_for(snapshot))


def test_types_are_sorted_and_every_reference_leads_somewhere(described):
    names = list(described.types)

    assert names == sorted(names)
    for each in described.types.values():
        for member in each.members:
            for reference in (
                getattr(member, "type", "Int"),
                *(arg.type for arg in getattr(member, "args", ())),
            ):
                assert _told(reference).strip("[]!") in described.types


def test_fields_of_roots_are_sorted(described):
    for root in ("Query", "Mutation"):
        names = [field.name for field in described.types[root].members]
        assert names == sorted(names)


def test_a_row_has_its_id_columns_relations_and_functions(described):
    assert _members(described, "Writer") == {
        "nodeId": "ID!",
        "writerId": "BigInt!",
        "fullName": "String!",
        "born": "Date",
        "bookCopyCollection": "BookCopyConnection",
        "edited": "BookCopyConnection",
        "youth": "YoungWriterConnection",
        "initials": "String",
        "firstBooks": "BookCopyConnection",
        "lastBook": "BookCopy",
    }
    assert described.types["Writer"].interfaces == ("Node",)
    assert _members(described, "BookCopy")["writer"] == "Writer!"
    assert _members(described, "BookCopy")["loan"] == "Loan"
    assert _members(described, "BookCopy")["marks"] == "[Shelf]"


def test_a_connection_has_what_its_directive_enables(described):
    assert _members(described, "WriterConnection") == {
        "edges": "[WriterEdge!]!",
        "pageInfo": "PageInfo!",
        "totalCount": "Int!",
        "aggregate": "WriterAggregate",
    }
    assert list(_members(described, "LoanConnection")) == ["edges", "pageInfo"]
    assert _members(described, "WriterEdge") == {"cursor": "String!", "node": "Writer!"}


def test_collections_take_paging_filters_and_order(described):
    field = next(field for field in described.types["Query"].members if field.name == "loanCollection")

    assert {arg.name: _told(arg.type) for arg in field.args} == {
        "first": "Int",
        "last": "Int",
        "before": "Cursor",
        "after": "Cursor",
        "offset": "Int",
        "filter": "LoanFilter",
        "orderBy": "[LoanOrderBy!]",
    }
    assert _told(field.type) == "LoanConnection!"


def test_filters_and_orders_leave_out_what_cannot_be_compared(described):
    filters, orders = _members(described, "BookCopyFilter"), _members(described, "BookCopyOrderBy")

    assert filters["shelf"] == "ShelfFilter"
    assert filters["tags"] == "StringListFilter"
    assert filters["secret"] == "OpaqueFilter"
    assert not {"extra", "marks"} & filters.keys()
    assert list(filters)[-4:] == ["nodeId", "and", "or", "not"]
    assert (filters["and"], filters["not"]) == ("[BookCopyFilter!]", "BookCopyFilter")
    assert not {"extra", "marks", "tags"} & orders.keys()
    assert set(orders.values()) == {"OrderByDirection"}


def test_mutations_and_their_inputs(described):
    fields = {field.name: field for field in described.types["Mutation"].members}
    update = {arg.name: (_told(arg.type), arg.default) for arg in fields["updateWriterCollection"].args}

    assert update == {
        "set": ("WriterUpdateInput!", None),
        "filter": ("WriterFilter", None),
        "atMost": ("Int!", "1"),
    }
    assert _told(fields["insertIntoWriterCollection"].type) == "WriterInsertResponse"
    assert _told(fields["deleteFromWriterCollection"].type) == "WriterDeleteResponse!"
    assert _members(described, "WriterInsertInput") == {"fullName": "String", "born": "Date"}
    assert _members(described, "WriterInsertResponse") == {"affectedCount": "Int!", "records": "[Writer!]!"}


def test_aggregates_have_the_columns_they_work_on(described):
    assert _members(described, "WriterAggregate") == {
        "count": "Int!",
        "sum": "WriterSumAggregateResult",
        "avg": "WriterAvgAggregateResult",
        "min": "WriterMinAggregateResult",
        "max": "WriterMaxAggregateResult",
    }
    assert _members(described, "WriterSumAggregateResult") == {"writerId": "BigFloat"}
    assert _members(described, "WriterMaxAggregateResult") == {
        "writerId": "BigInt",
        "fullName": "String",
        "born": "Date",
    }
    assert "LoanAggregate" not in described.types


def test_functions_are_fields_with_their_arguments(described):
    fields = {field.name: field for field in described.types["Query"].members}

    assert {arg.name: (_told(arg.type), arg.default) for arg in fields["addUp"].args}["bTerm"] == ("Int", "5")
    assert _told(fields["addUp"].args[0].type) == "Int!"
    assert [arg.name for arg in fields["manyBooks"].args][:2] == ["wanted", "first"]
    assert _told(fields["manyBooks"].type) == "BookCopyConnection"


def test_look_ups_take_all_key_columns(described):
    fields = {field.name: field for field in described.types["Query"].members}

    assert {arg.name: _told(arg.type) for arg in fields["sheetByPk"].args} == {"page": "Int!", "line": "Int!"}
    assert _told(fields["sheet"].type) == "Sheet"


def test_a_column_with_an_invalid_name_is_not_shown(described):
    assert list(_members(described, "NamelessKey")) == ["nodeId", "note"]
    assert list(_members(described, "NamelessKeyInsertInput")) == ["note"]


def test_schemas_without_introspection_are_not_shown(described):
    assert not {"box", "boxConnection", "measured"} & described.types.keys()
    assert not {"boxCollection", "insertIntoboxCollection"} & (
        _members(described, "Query").keys() | _members(described, "Mutation").keys()
    )


def test_enums_show_the_values_that_can_be_spelled(snapshot, described):
    tester = describe(schema_for(snapshot, "tester"))

    assert [value.name for value in described.types["Shelf"].members] == ["FLOOR_ONE", "floor_two"]
    assert "SecretMark" not in described.types
    assert _members(tester, "SecretMarkFilter") == {
        "eq": "SecretMark",
        "in": "[SecretMark!]",
        "is": "FilterIs",
        "neq": "SecretMark",
    }


def test_roles_see_what_they_may_do(snapshot):
    reader, unprivileged = (
        describe(schema_for(snapshot, READER)),
        describe(schema_for(snapshot, UNPRIVILEGED)),
    )

    assert "BookCopyInsertInput" in reader.types
    assert not {"BookCopyUpdateInput", "BookCopyDeleteResponse", "WriterInsertInput"} & reader.types.keys()
    assert "Sheet" not in reader.types["Node"].possible
    assert unprivileged.mutation is None
    assert list(_members(unprivileged, "Query")) == ["node"]


def test_node_is_what_every_row_with_an_id_has(described):
    assert "Writer" in described.types["Node"].possible
    assert list(described.types["Node"].possible) == sorted(described.types["Node"].possible)
