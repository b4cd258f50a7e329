"""Relationship detection (reference page "rest", section 22), rule by rule, against a real server."""

from pathlib import Path

import pytest

from tests.workers.database.introspection_fixtures import catalog_of, described, fresh_database
from workers.database.schema_cache.catalog import Cardinality, ComputedRelationship

SCHEMA = Path(__file__).with_name("relationships.sql").read_text()


@pytest.fixture(scope="module")
async def catalog(server):
    async with fresh_database(server.url, SCHEMA) as url:
        yield await catalog_of(url, ["api"], ["extra"])


def test_a_foreign_key_gives_both_directions(catalog):
    assert described(catalog, "api", "visits", "places") == [
        "many-to-one places place(land=country town=city)"
    ]
    assert described(catalog, "api", "places", "visits") == [
        "one-to-many visits place(country=land city=town)"
    ]


def test_two_foreign_keys_to_one_table_stay_apart(catalog):
    assert described(catalog, "api", "projects", "clients") == [
        "many-to-one clients client(client_id=id)",
        "many-to-one clients payer(payer_id=id)",
    ]
    assert described(catalog, "api", "clients", "projects") == [
        "one-to-many projects client(id=client_id)",
        "one-to-many projects payer(id=payer_id)",
    ]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("passports", "one-to-one clients holder(client_id=id)"),
        ("badges", "one-to-one clients wearer(client_id=id)"),
        ("almost_unique", "many-to-one clients owner(client_id=id)"),
    ],
)
def test_a_key_that_is_unique_by_constraint_is_one_to_one(catalog, table, expected):
    assert described(catalog, "api", table, "clients") == [expected]


def test_order_of_columns_does_not_matter_for_being_unique(catalog):
    assert described(catalog, "api", "keys", "lockers") == ["one-to-one lockers opens(x=a y=b)"]


def test_a_key_with_more_columns_than_the_unique_one_is_many_to_one(catalog):
    assert described(catalog, "api", "capitals", "places") == [
        "many-to-one places of_place(city=city country=country)"
    ]


def test_the_referenced_side_of_one_to_one_is_the_parent(catalog):
    assert described(catalog, "api", "clients", "passports") == [
        "one-to-one passports holder(id=client_id) parent"
    ]


def test_self_references_have_both_directions(catalog):
    assert described(catalog, "api", "people", "people") == [
        "one-to-many people chief(id=boss) self",
        "many-to-one people chief(boss=id) self",
        "one-to-one people partner(id=spouse) self parent",
        "one-to-one people partner(spouse=id) self",
    ]


def test_partitions_are_hidden_and_their_parents_joined_once(catalog):
    assert ("api", "models_2021") not in catalog.relations
    assert described(catalog, "api", "models", "makers") == ["many-to-one makers made_by(maker=name)"]
    assert described(catalog, "api", "sales") == ["many-to-one models sold(model=name year=year)"]
    assert described(catalog, "api", "models", "sales") == ["one-to-many sales sold(name=model year=year)"]
    assert described(catalog, "api", "makers") == ["one-to-many models made_by(name=maker)"]


def test_an_inheriting_table_has_no_keys(catalog):
    child = catalog.relations["api", "child_projects"]

    assert list(child.columns) == ["id", "client_id", "payer_id"]
    assert child.primary_key == ()
    assert described(catalog, "api", "child_projects") == []


def test_dropped_columns_do_not_shift_the_others(catalog):
    assert list(catalog.relations["api", "shifted"].columns) == ["id", "client_id"]
    assert described(catalog, "api", "shifted", "clients") == [
        "many-to-one clients shifted_client(client_id=id)"
    ]
    assert described(catalog, "api", "shifted_view", "clients") == [
        "many-to-one clients shifted_client(owner=id)"
    ]
    assert catalog.relations["api", "shifted_view"].primary_key == ("id",)


@pytest.mark.parametrize(
    ("origin", "target", "expected"),
    [
        ("projects_view", "clients", ["many-to-one clients client(client_id=id)"]),
        ("clients", "projects_view", ["one-to-many projects_view client(id=client_id)"]),
        ("projects", "clients_view", ["many-to-one clients_view client(client_id=number)", "many-to-one clients_view payer(payer_id=number)"]),
        ("projects_view", "clients_view", ["many-to-one clients_view client(client_id=number)"]),
        ("clients_stored", "projects_view", ["one-to-many projects_view client(id=client_id)"]),
        ("second_level", "clients", ["many-to-one clients client(customer=id)"]),
        ("second_level", "clients_view", ["many-to-one clients_view client(customer=number)"]),
        ("renamed", "clients", ["many-to-one clients client(a=id)"]),
        ("without_key", "clients", []),
        ("computed_key", "clients", []),
        ("twice", "clients", ["many-to-one clients client(one=id)", "many-to-one clients client(two=id)"]),
        ("half_visits", "places", []),
        ("joined", "clients", ["many-to-one clients client(client_id=id)"]),
        ("joined", "projects_view", ["one-to-many projects_view client(own_client=client_id)"]),
        ("with_subquery", "clients", ["many-to-one clients client(client_id=id)"]),
        ("with_subquery", "places", []),
        ("with_cte", "clients", ["many-to-one clients client(client_id=id)"]),
        ("lateral_view", "clients", ["many-to-one clients client(client_id=id)"]),
        ("united", "clients", []),
        ("looped", "clients", []),
        ("grouped", "clients", ["many-to-one clients client(client_id=id)"]),
        ("distinct_view", "clients", ["many-to-one clients client(client_id=id)"]),
        ("authors", "books", ["one-to-many books author(id=author_id)"]),
        ("books", "authors", ["many-to-one authors author(author_id=id)"]),
        ("books_through_extra", "authors", ["many-to-one authors author(author_id=id)"]),
        ("books_through_hidden", "authors", []),
    ],
)  # fmt: skip
def test_views_are_joined_as_the_tables_beneath_them(catalog, origin, target, expected):
    assert described(catalog, "api", origin, target) == expected


def test_every_combination_of_repeated_columns_is_a_relationship(catalog):
    assert described(catalog, "api", "visits_twice", "places") == [
        "many-to-one places place(land=country town=city)",
        "many-to-one places place(land=country town2=city)",
        "many-to-one places place(land2=country town=city)",
        "many-to-one places place(land2=country town2=city)",
    ]


def test_a_view_over_a_self_reference_joins_itself_and_its_table(catalog):
    assert described(catalog, "api", "people_view", "people_view") == [
        "one-to-many people_view chief(id=boss) self",
        "many-to-one people_view chief(boss=id) self",
    ]
    assert described(catalog, "api", "people_view", "people") == [
        "one-to-many people chief(id=boss)",
        "many-to-one people chief(boss=id)",
        "one-to-one people partner(id=spouse) parent",
    ]


def test_views_are_told_apart_from_tables(catalog):
    by_target = {each.target[1]: each for each in catalog.relationships["api", "projects_view"]}

    assert by_target["clients"].origin_is_view
    assert not by_target["clients"].target_is_view
    assert by_target["clients_stored"].target_is_view


@pytest.mark.parametrize(
    ("relation", "key"),
    [
        ("clients_view", ("number",)),
        ("clients_stored", ("id",)),
        ("second_level", ("project",)),
        ("renamed", ("b",)),
        ("joined", ("id", "own_client")),
        ("twice", ("id",)),
        ("grouped", ()),
        ("united", ()),
        ("looped", ()),
        ("books_through_hidden", ()),
        ("places", ("country", "city")),
        ("junction_view", ("u", "t")),
        ("sales", ()),
        ("models", ("name", "year")),
    ],
)
def test_primary_keys_are_found_on_tables_and_views(catalog, relation, key):
    assert catalog.relations["api", relation].primary_key == key


def test_junctions_join_many_to_many(catalog):
    expected = [
        "many-to-many tasks via junction_view sj_user(id=u), sj_task(id=t)",
        "many-to-many tasks via shifts sh_user(id=user_id), sh_task(id=task_id)",
        "many-to-many tasks via users_tasks ut_user(id=user_id), ut_task(id=task_id)",
    ]

    assert described(catalog, "api", "users", "tasks") == expected
    assert [each.split(" via ")[1].split()[0] for each in described(catalog, "api", "tasks", "users")] == [
        "junction_view",
        "shifts",
        "users_tasks",
    ]


def test_a_junction_of_a_table_with_itself_goes_both_ways(catalog):
    assert described(catalog, "api", "users", "users") == [
        "many-to-many users via follows f_followed(id=followed), f_follower(id=follower) self",
        "many-to-many users via follows f_follower(id=follower), f_followed(id=followed) self",
    ]


def test_computed_relationships_tell_one_from_many(catalog):
    assert described(catalog, "api", "movies") == [
        "computed best_studio to one studios",
        "computed next_movie to one movies self",
        "computed one_studio to one studios",
        "computed studios to one studios",
    ]
    assert "computed all_movies to many movies" in described(catalog, "api", "studios")


def test_a_computed_relationship_replaces_the_detected_one_of_its_name(catalog):
    towards = catalog.relationships["api", "movies"]

    assert all(isinstance(each, ComputedRelationship) for each in towards)
    assert "one-to-many movies made(id=maker_id)" in described(catalog, "api", "studios", "movies")


def test_relations_out_of_sight_are_no_targets(catalog):
    targets = {each.target for found in catalog.relationships.values() for each in found}

    assert {schema for schema, _ in targets} == {"api"}


async def test_relationships_between_exposed_schemas_are_kept(server):
    async with fresh_database(server.url, SCHEMA) as url:
        both = await catalog_of(url, ["api", "second"])

    assert described(both, "second", "notes", "clients") == ["many-to-one clients noted(client_id=id)"]
    assert "one-to-many notes noted(id=client_id)" in described(both, "api", "clients", "notes")
    assert described(both, "api", "books_through_extra", "authors") == []


def test_names_of_any_signs_are_kept_as_they_are(catalog):
    assert described(catalog, "api", "таблица") == ['many-to-one Odd "Name" Odd FK(odd\\ref=Id;)']
    assert described(catalog, "api", "odd view") == [
        'many-to-one Odd "Name" Odd FK(\\{TARGETENTRY :resno=Id;)'
    ]
    assert catalog.relations["api", "odd view"].primary_key == ("k {}",)
    assert list(catalog.relations["api", 'Odd "Name"'].columns) == ["Id;", "größe {x}"]


def test_every_relationship_has_its_inverse(catalog):
    inverse = {
        Cardinality.MANY_TO_ONE: Cardinality.ONE_TO_MANY,
        Cardinality.ONE_TO_MANY: Cardinality.MANY_TO_ONE,
        Cardinality.ONE_TO_ONE: Cardinality.ONE_TO_ONE,
        Cardinality.MANY_TO_MANY: Cardinality.MANY_TO_MANY,
    }
    known = {
        (each.origin, each.target, each.cardinality, each.constraint)
        for found in catalog.relationships.values()
        for each in found
        if not isinstance(each, ComputedRelationship)
    }
    replaced = {(("api", "studios"), ("api", "movies"))}

    assert {
        (target, origin, inverse[cardinality], constraint)
        for origin, target, cardinality, constraint in known
        if (origin, target) not in replaced
    } <= known


async def test_of_postgis_what_makes_geojson_is_known_and_cannot_be_called(server):
    """Functions of the schema `extensions` are not exposed; this one is called for `Accept: application/geo+json`."""
    schema = """
        create schema api; create schema extensions;
        create function extensions.st_asgeojson(r record, geom_column text default '') returns text language plpgsql as 'begin return null; end';
        create function extensions.st_astext(int) returns text language sql as 'select null::text';
    """
    async with fresh_database(server.url, schema) as url:
        functions = (await catalog_of(url, ["api"], ["extensions"])).functions

    assert set(functions) == {("extensions", "st_asgeojson")}
