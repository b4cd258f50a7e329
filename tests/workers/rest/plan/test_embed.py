"""Which relationship an embed means: reference page, sections 9.1, 9.3, 9.7, 20 and 22."""

import pytest

from tests.workers.rest.plan.asking import plan
from workers.database.schema_cache.catalog import Cardinality, ComputedRelationship, Relationship
from workers.rest.errors.plan import AmbiguousRelationship, NoRelationship
from workers.rest.model import Embed


def embed(target: str, relation: str) -> Embed:
    return plan("GET", f"/{relation}?select=*,{target}").read.embeds[0]


@pytest.mark.parametrize(
    ("relation", "target", "to", "cardinality", "columns"),
    [
        ("projects", "clients(*)", "clients", Cardinality.MANY_TO_ONE, (("client_id", "id"),)),
        ("projects", "projects_client_id_fkey(*)", "clients", Cardinality.MANY_TO_ONE, (("client_id", "id"),)),
        ("projects", "client_id(*)", "clients", Cardinality.MANY_TO_ONE, (("client_id", "id"),)),
        ("projects", "clients!projects_client_id_fkey(*)", "clients", Cardinality.MANY_TO_ONE, (("client_id", "id"),)),
        ("projects", "clients!client_id(*)", "clients", Cardinality.MANY_TO_ONE, (("client_id", "id"),)),
        ("projects", "clients!id(*)", "clients", Cardinality.MANY_TO_ONE, (("client_id", "id"),)),
        ("clients", "projects(*)", "projects", Cardinality.ONE_TO_MANY, (("id", "client_id"),)),
        ("clients", "projects!client_id(*)", "projects", Cardinality.ONE_TO_MANY, (("id", "client_id"),)),
        ("clients", "id(*)", "projects", Cardinality.ONE_TO_MANY, (("id", "client_id"),)),
        ("projects", "id(*)", "tasks", Cardinality.ONE_TO_MANY, (("id", "project_id"),)),
        ("clients", "projects_client_id_fkey(*)", "projects", Cardinality.ONE_TO_MANY, (("id", "client_id"),)),
        ("clients", "project_list(*)", "project_list", Cardinality.ONE_TO_MANY, (("id", "client_id"),)),
        ("project_list", "clients(*)", "clients", Cardinality.MANY_TO_ONE, (("client_id", "id"),)),
        ("project_list", "client_id(*)", "clients", Cardinality.MANY_TO_ONE, (("client_id", "id"),)),
        ("tasks", "project_id(*)", "projects", Cardinality.MANY_TO_ONE, (("project_id", "id"),)),
        ("users", "badges(*)", "badges", Cardinality.ONE_TO_ONE, (("id", "user_id"),)),
        ("badges", "users(*)", "users", Cardinality.ONE_TO_ONE, (("user_id", "id"),)),
        ("badges", "user_id(*)", "users", Cardinality.ONE_TO_ONE, (("user_id", "id"),)),
        ("orders", "addresses!billing(*)", "addresses", Cardinality.MANY_TO_ONE, (("billing_id", "id"),)),
        ("orders", "addresses!shipping_id(*)", "addresses", Cardinality.MANY_TO_ONE, (("shipping_id", "id"),)),
        ("orders", "billing(*)", "addresses", Cardinality.MANY_TO_ONE, (("billing_id", "id"),)),
        ("orders", "shipping_id(*)", "addresses", Cardinality.MANY_TO_ONE, (("shipping_id", "id"),)),
        ("addresses", "orders!shipping(*)", "orders", Cardinality.ONE_TO_MANY, (("id", "shipping_id"),)),
        ("addresses", "orders!billing_id(*)", "orders", Cardinality.ONE_TO_MANY, (("id", "billing_id"),)),
        ("branches", "branches(*)", "branches", Cardinality.ONE_TO_MANY, (("id", "parent"),)),
        ("branches", "branches!parent(*)", "branches", Cardinality.ONE_TO_MANY, (("id", "parent"),)),
        ("branches", "branches!branches_parent_fkey(*)", "branches", Cardinality.ONE_TO_MANY, (("id", "parent"),)),
        ("branches", "parent(*)", "branches", Cardinality.MANY_TO_ONE, (("parent", "id"),)),
        ("users", "tasks(*)", "tasks", Cardinality.MANY_TO_MANY, ()),
        ("tasks", "users!users_tasks(*)", "users", Cardinality.MANY_TO_MANY, ()),
        ("users", "users_tasks(*)", "users_tasks", Cardinality.ONE_TO_MANY, (("id", "user_id"),)),
    ],
)  # fmt: skip
def test_names_keys_and_hints_find_the_relationship(
    relation: str, target: str, to: str, cardinality: Cardinality, columns: tuple[tuple[str, str], ...]
) -> None:
    found = embed(target, relation)

    assert isinstance(found.relationship, Relationship)
    assert (found.relationship.target[1], found.relationship.cardinality) == (to, cardinality)
    assert found.relationship.columns == columns
    assert found.is_to_one is (cardinality in (Cardinality.MANY_TO_ONE, Cardinality.ONE_TO_ONE))


@pytest.mark.parametrize(
    ("target", "function", "is_to_one"), [("lead(*)", "lead", True), ("open_tasks(*)", "open_tasks", False)]
)
def test_computed_relationships_go_by_their_function(target: str, function: str, is_to_one: bool) -> None:
    found = embed(target, "projects")

    assert isinstance(found.relationship, ComputedRelationship)
    assert found.read.source == ("public", function)
    assert found.is_to_one is is_to_one


def test_several_relationships_are_listed_with_what_would_choose() -> None:
    with pytest.raises(AmbiguousRelationship) as caught:
        embed("addresses(*)", "orders")

    assert caught.value.status == 300
    assert caught.value.body() == {
        "code": "PGRST201",
        "message": "Could not embed because more than one relationship was found for 'orders' and 'addresses'",
        "details": [
            {
                "cardinality": "many-to-one",
                "embedding": "orders with addresses",
                "relationship": "billing using orders(billing_id) and addresses(id)",
            },
            {
                "cardinality": "many-to-one",
                "embedding": "orders with addresses",
                "relationship": "shipping using orders(shipping_id) and addresses(id)",
            },
        ],
        "hint": "Try changing 'addresses' to one of the following: 'addresses!billing', 'addresses!shipping'. "
        "Find the desired relationship in the 'details' key.",
    }


def test_a_column_that_several_refer_to_is_ambiguous() -> None:
    with pytest.raises(AmbiguousRelationship) as caught:
        embed("id(*)", "users")

    assert caught.value.hint is not None
    assert caught.value.hint.startswith(
        "Try changing 'id' to one of the following: 'badges!badges_user_id_fkey', 'users_tasks!users_tasks_user_id_fkey'."
    )


def test_the_other_side_of_several_relationships_is_ambiguous_too() -> None:
    with pytest.raises(AmbiguousRelationship) as caught:
        embed("orders(*)", "addresses")

    details = caught.value.details
    assert isinstance(details, list)
    assert [each["cardinality"] for each in details] == ["one-to-many"] * 2
    assert details[1]["relationship"] == "shipping using addresses(id) and orders(shipping_id)"


@pytest.mark.parametrize(
    ("relation", "target", "message_end", "details", "hint"),
    [
        ("projects", "users(*)", "'projects' and 'users'", "'projects' and 'users' in the schema 'public'", None),
        ("projects", "client(*)", "'projects' and 'client'", "'projects' and 'client' in", "Perhaps you meant 'clients' instead of 'client'."),
        ("orders", "addresses!nope(*)", "'orders' and 'addresses'", "'addresses' using the hint 'nope' in the schema 'public'", None),
        ("branches", "branches!id(*)", "'branches' and 'branches'", "using the hint 'id'", None),
        ("lines", "clients(*)", "'lines' and 'clients'", "'lines' and 'clients' in the schema", None),
        ("lines", "client(*)", "'lines' and 'client'", "'lines' and 'client' in the schema", "Perhaps you meant 'branches' instead of 'lines'."),
        ("projects", "lead!x(*)", "'projects' and 'lead'", "using the hint 'x'", None),
        ("tasks", "Projects(*)", "'tasks' and 'Projects'", "'tasks' and 'Projects'", "Perhaps you meant 'projects' instead of 'Projects'."),
        ("clients", "nothing_like_it(*)", "'clients' and 'nothing_like_it'", "'clients' and 'nothing_like_it'", None),
    ],
)  # fmt: skip
def test_no_relationship_is_refused_with_a_hint_where_a_name_is_near(
    relation: str, target: str, message_end: str, details: str, hint: str | None
) -> None:
    with pytest.raises(NoRelationship) as caught:
        embed(target, relation)

    assert caught.value.status == 400
    assert caught.value.message == f"Could not find a relationship between {message_end} in the schema cache"
    assert str(caught.value.details).startswith("Searched for a foreign key relationship between ")
    assert str(caught.value.details).endswith(", but no matches were found.")
    assert details in str(caught.value.details)
    assert caught.value.hint == hint
