"""The schema cache over the database of the REST conformance cases: facts that its SQL files state."""

import pytest

from tests.workers.database.introspection_fixtures import (
    CONFORMANCE,
    as_role,
    catalog_of,
    described,
    fresh_database,
)
from workers.database.schema_cache.catalog import MediaHandler, Returns
from workers.database.schema_cache.similar_names import best_match

pytestmark = pytest.mark.skipif(
    not CONFORMANCE.is_dir(), reason="the conformance fixtures lie beside the repository and are not there"
)

LOGIN = "postgrest_test_authenticator"


@pytest.fixture(scope="module")
async def url(server):
    scripts = [file.read_text() for file in sorted(CONFORMANCE.glob("*.sql"))]
    async with fresh_database(server.url, *scripts) as superuser:
        yield as_role(superuser, LOGIN)


@pytest.fixture(scope="module")
async def catalog(url):
    return await catalog_of(url, ["test"])


def keys(catalog, relation):
    return catalog.relations["test", relation].primary_key


def column(catalog, relation, name):
    return catalog.relations["test", relation].columns[name]


def functions(catalog, name):
    return catalog.functions["test", name]


@pytest.mark.parametrize(
    ("origin", "target", "expected"),
    [
        ("projects", "clients", ["computed computed_clients to one clients", "many-to-one clients client(client_id=id)"]),
        ("projects_view", "clients", ["many-to-one clients client(client_id=id)"]),
        ("clients", "projects_view_alt", ["one-to-many projects_view_alt client(id=t_client_id)"]),
        ("tasks", "projects_view_alt", ["many-to-one projects_view_alt project(project_id=t_id)"]),
        ("filtered_tasks", "projects", ["many-to-one projects project(projectID=id)"]),
        ("tasks", "materialized_projects", ["many-to-one materialized_projects project(project_id=id)"]),
        ("users", "tasks", ["many-to-many tasks via users_tasks users_tasks_user_id_fkey(id=user_id), users_tasks_task_id_fkey(id=task_id)"]),
        ("comments", "users_tasks", ["many-to-one users_tasks comments_task_id_fkey(task_id=task_id user_id=user_id)"]),
        ("touched_files", "users_tasks", ["many-to-one users_tasks fk_users_tasks(user_id=user_id task_id=task_id)"]),
        ("articleStars", "users", ["many-to-one users user(userId=id)"]),
        ("articleStars", "articles", ["many-to-one articles article(articleId=id)"]),
        ("orders", "addresses", ["many-to-one addresses billing(billing_address_id=id)", "many-to-one addresses shipping(shipping_address_id=id)"]),
        ("family_tree", "family_tree", ["one-to-many family_tree pptr(id=parent) self", "many-to-one family_tree pptr(parent=id) self"]),
        ("forties_books", "authors", ["many-to-one authors books_author_id_fkey(author_id=id)"]),
        ("odd_years_publications", "authors", ["many-to-one authors books_author_id_fkey(author_id=id)"]),
        ("forties_and_fifties_books", "authors", ["many-to-one authors books_author_id_fkey(author_id=id)"]),
        ("authors_have_book_in_decade", "books", ["one-to-many books books_author_id_fkey(id=author_id)"]),
        ("books", "publishers", ["many-to-one publishers books_first_publisher_id_fkey(first_publisher_id=id)"]),
        ("bars", "foos", ['many-to-one foos bar_fooId_fkey(fooId=id)']),
        ("projects_count_grouped_by", "clients", ["many-to-one clients client(client_id=id)"]),
        ("contract_view", "player_view", ["many-to-one player_view contract_last_name_id_first_name_birth_date_fkey(last_name=last_name id=id first_name=first_name birth_date=birth_date)"]),
        ("screens", "labels", ["many-to-many labels via label_screen label_screen_screen_id_fkey(id=screen_id), label_screen_label_id_fkey(id=label_id)"]),
        ("actors", "films", ["many-to-many films via personnages personnages_role_id_fkey(id=role_id), personnages_film_id_fkey(id=film_id)"]),
        ("end_1", "end_2", []),
        ("schauspieler", "filme", []),
        ("students_info", "students", ["one-to-one students students_info_code_id_fkey(code=code id=id)"]),
        ("students_view", "students_info_view", ["one-to-one students_info_view students_info_code_id_fkey(code=code id=id) parent"]),
        ("country", "capital", ["one-to-one capital capital_country_id_fkey(id=country_id) parent"]),
        ("referrals", "pages", ["many-to-one pages referrals_link_fkey(link=link)"]),
        ("first", "second", ["one-to-one second first_second_id_1_fkey(second_id_1=id)", "one-to-one second first_second_id_2_fkey(second_id_2=id)"]),
        ("trash_details", "trash", ["one-to-one trash trash_details_id_fkey(id=id)"]),
        ("car_models", "car_brands", ["many-to-one car_brands car_models_car_brand_name_fkey(car_brand_name=name)"]),
        ("car_racers", "car_models", ["many-to-one car_models car_racers_car_model_name_car_model_year_fkey(car_model_name=name car_model_year=year)"]),
        ("self_recursive_view", "clients", []),
        ("infinite_recursion", "clients", []),
        ("i2459_simple_v2", "i2459_simple_v1", ["many-to-one i2459_simple_v1 i2459_simple_t2_t1_id_fkey(t1_id1=id)", "many-to-one i2459_simple_v1 i2459_simple_t2_t1_id_fkey(t1_id2=id)"]),
        ("vb", "va", ["many-to-one va tb_b1_fkey(b1=a1)"]),
        ("v2", "v1", ["many-to-one v1 b_c1_c2_fkey(c1=c1 c2=c2)"]),
        ("job", "job", ["one-to-many job parent_fk(id=parent_id) self", "many-to-one job parent_fk(parent_id=id) self"]),
        ("orders_view", "consumers_view", ["many-to-one consumers_view public_orders_consumer_fkey(consumer=id)"]),
        ("orders_view", "consumers_view_view", ["many-to-one consumers_view_view public_orders_consumer_fkey(consumer=id)"]),
        ("orders_view", "consumers_extra_view", []),
        ("videogames", "designers", ["computed computed_designers to one designers", "computed computed_designers_noset to one designers", "computed designers to one designers"]),
        ("designers", "videogames", ["computed computed_videogames to many videogames", "computed videogames to many videogames"]),
        ("fee", "baz", ["computed jsbaz to many baz"]),
    ],
)  # fmt: skip
def test_relationships(catalog, origin, target, expected):
    assert described(catalog, "test", origin, target) == expected


async def test_the_extra_search_path_lets_views_be_followed_through_it(url):
    catalog = await catalog_of(url, ["test"], ["public"])

    assert described(catalog, "test", "orders_view", "consumers_extra_view") == [
        "many-to-one consumers_extra_view public_orders_consumer_fkey(consumer=id)"
    ]
    assert ("test", "items") in catalog.computed_fields
    assert (("public", "always_false"), "boolean") in [
        (each.function, each.type) for each in catalog.computed_fields["test", "items"]
    ]


@pytest.mark.parametrize(
    ("relation", "key"),
    [
        ("items", ("id",)),
        ("compound_pk", ("k1", "k2")),
        ("compound_pk_view", ("k1", "k2")),
        ("users_projects", ("project_id", "user_id")),
        ("projects_view_alt", ("t_id",)),
        ("filtered_tasks", ("myId",)),
        ("player_view", ("last_name", "id", "first_name", "birth_date")),
        ("with_multiple_pks", ("pk1", "pk2")),
        ("projects_auto_updatable_view_without_pk", ()),
        ("test_null_pk_competitors_sponsors", ("id", "sponsor_id")),
        ("materialized_projects", ("id",)),
        ("car_models", ("name", "year")),
        ("no_pk", ()),
        ("stuff", ("id",)),
        ("orders", ()),
    ],
)
def test_primary_keys(catalog, relation, key):
    assert keys(catalog, relation) == key


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("projects_auto_updatable_view_with_pk", (True, True, True)),
        ("projects_view_without_triggers", (False, False, False)),
        ("projects_view_with_all_triggers_with_pk", (True, True, True)),
        ("projects_view_with_insert_trigger", (True, False, False)),
        ("projects_view_with_update_trigger", (False, True, False)),
        ("projects_view_with_delete_trigger", (False, False, True)),
        ("materialized_projects", (False, False, False)),
        ("projects_dump", (False, False, False)),
        ("car_models", (True, True, True)),
        ("infinite_recursion", (False, False, False)),
    ],
)
def test_writability(catalog, relation, expected):
    found = catalog.relations["test", relation]

    assert (found.insertable, found.updatable, found.deletable) == expected


def test_relations_are_those_of_the_schema_without_partitions(catalog):
    names = {name for _, name in catalog.relations}

    assert {"projects_dump", "car_models", "materialized_view", "Escap3e;", "do$llar$s"} <= names
    assert not names & {"car_models_2021", "car_models_default", "public_orders", "point_2d"}
    assert catalog.relations["test", "projects_dump"].kind == "f"


def test_comments_are_not_mixed_up_when_a_function_has_a_tables_oid(catalog):
    assert catalog.relations["test", "collision_test_table"].comment == "foobarbaz"
    assert functions(catalog, "collision_test_func")[0].comment == "fizzbuzz"
    assert (catalog.schemas["test"] or "").startswith("My API title")
    assert column(catalog, "child_entities", "id").comment == "child_entities id comment"


@pytest.mark.parametrize(
    ("relation", "name", "type_", "default"),
    [
        ("auto_incrementing_pk", "id", "integer", "nextval('test.auto_incrementing_pk_id_seq'::regclass)"),
        ("menagerie", "enum", "test.enum_menagerie_type", None),
        ("complex_items_view", "name", "text", "'Default'::text"),
        ("channels", "id", "bigint", "nextval('test.channels_id_seq')"),
        ("foo", "b", "text", None),
        ("evil_friends", "id", "test.devil_int", "666"),
        ("evil_friends_with_column_default", "id", "test.devil_int", "420"),
        ("places", "id", "integer", None),
        ("datarep_todos", "label_color", "public.color", "0"),
        ("datarep_todos_computed", "dark_color", "public.color", None),
        ("isn_sample", "id", "extensions.isbn", None),
        ("Surr_Gen_Default_Upsert", "id", "integer", "nextval('test.\"Surr_Gen_Default_Upsert_id_seq\"')"),
        ("bitchar_with_length", "bit", "bit", None),
        ("tsearch_to_tsvector", "text_search_rec_domain", "test.tsvector_not_empty", "'''.'''::tsvector"),
    ],
)
def test_columns(catalog, relation, name, type_, default):
    found = column(catalog, relation, name)

    assert (found.type, found.default) == (type_, default)


def test_labels_lengths_and_bases_of_columns(catalog):
    assert column(catalog, "menagerie", "enum").enum == ("foo", "bar")
    assert column(catalog, "visits", "visit_type").enum == ("vacation", "work")
    assert column(catalog, "sponsors", "name").max_length == 20
    assert column(catalog, "bitchar_with_length", "bit").full_type == "bit(5)"
    assert column(catalog, "tsearch_to_tsvector", "text_search_rec_domain").base_type == "tsvector"


def test_functions_and_their_overloads(catalog):
    assert [[each.name for each in one.arguments] for one in functions(catalog, "overloaded")] == [
        [],
        [""],
        ["a", "b"],
        ["a", "b", "c"],
    ]
    assert [one.arguments[0].type for one in functions(catalog, "overloaded_unnamed_param")[:3]] == [
        "json",
        "bytea",
        "text",
    ]
    assert [len(one.arguments) for one in functions(catalog, "overloaded_same_args")] == [1, 1, 2]
    assert functions(catalog, "overloaded_same_args")[1].arguments[0].type == "xml"


def test_functions_that_cannot_be_called_are_left_out(catalog):
    assert len(functions(catalog, "ret_setof_integers")) == 1
    for name in ("unnamed_int_param", "unsupported_proc", "unsupported_agg", "always_true", "dummy"):
        assert ("test", name) not in catalog.functions


def test_arguments_of_a_function_with_many_types(catalog):
    (found,) = functions(catalog, "varied_arguments")

    assert [each.type for each in found.arguments] == [
        "double precision",
        "character varying",
        "boolean",
        "date",
        "money",
        "test.enum_menagerie_type",
        "text[]",
        "integer",
        "json",
        "jsonb",
    ]
    assert [each.name for each in found.arguments if not each.is_required] == ["integer", "json", "jsonb"]


@pytest.mark.parametrize(
    ("name", "returns", "is_set", "relation"),
    [
        ("getitemrange", Returns.COMPOSITE, True, ("test", "items")),
        ("getproject_domain", Returns.COMPOSITE, True, ("test", "projects")),
        ("single_article", Returns.COMPOSITE, False, ("test", "articles")),
        ("ret_point_3d", Returns.COMPOSITE, False, None),
        ("ret_composite_domain", Returns.COMPOSITE, False, None),
        ("ret_domain", Returns.SCALAR, False, None),
        ("ret_void", Returns.VOID, False, None),
        ("single_out_param", Returns.COMPOSITE, False, None),
        ("reveal_big_jwt", Returns.COMPOSITE, True, None),
        ("returns_setof_record", Returns.SCALAR, True, None),
        ("welcome", Returns.SCALAR, False, None),
    ],
)
def test_results_of_functions(catalog, name, returns, is_set, relation):
    found = functions(catalog, name)[0]

    assert (found.returns, found.returns_set, found.returned_relation) == (returns, is_set, relation)


def test_domains_over_composite_types_are_aliases(catalog):
    aliases = {name for (_, name), found in catalog.functions.items() if found[0].is_composite_alias}

    assert aliases == {"getproject_domain", "ret_composite_domain"}


def test_representations(catalog):
    found = catalog.representations

    assert found.to_json["public.titlecasetext"] == ("test", "json")
    assert found.from_json["public.color"] == ("test", "color")
    assert "public.color" in found.from_text
    assert "public.isodate" not in found.from_text


@pytest.mark.parametrize(
    "handler",
    [
        MediaHandler("application/vnd.twkb", ("test", "twkb_agg"), ("test", "lines"), base_type="bytea"),
        MediaHandler("application/vnd.geo2+json", ("test", "geo2json_agg_any"), None, base_type="jsonb"),
        MediaHandler(
            "application/vnd.geo2+json", ("test", "geo2json_agg"), ("test", "shop_bles"), base_type="jsonb"
        ),
        MediaHandler(
            "application/geo+json", ("test", "lines_geojson_agg"), ("test", "lines"), base_type="jsonb"
        ),
        MediaHandler("text/tab-separated-values", ("test", "tsv_agg"), ("test", "projects")),
        MediaHandler("*/*", ("test", "some_agg"), ("test", "some_numbers"), base_type="bytea"),
        MediaHandler("text/html", ("test", "welcome.html"), None, is_scalar=True),
        MediaHandler("*/*", ("test", "ret_any_mt"), None, is_scalar=True, base_type="bytea"),
    ],
)
def test_media_handlers(catalog, handler):
    assert handler in catalog.media_handlers


def test_functions_that_return_many_of_a_media_type_are_no_handlers(catalog):
    assert not [each for each in catalog.media_handlers if each.function == ("test", "welcome_twice")]


def test_computed_fields(catalog):
    fields = [each.function[1] for each in catalog.computed_fields["test", "items"]]

    assert sorted(fields) == ["always_true", "anti_id", "computed_overload", "is_first"]


def test_roles_are_those_the_login_role_may_become(catalog):
    assert set(catalog.roles) == {
        "postgrest_test_anonymous",
        "postgrest_test_default_role",
        "postgrest_test_author",
        "postgrest_test_superuser",
    }


@pytest.mark.parametrize(
    ("schemas", "relation"),
    [(["تست"], ("تست", "موارد")), (['SPECIAL "@/\\#~_-'], ('SPECIAL "@/\\#~_-', "languages"))],
)
async def test_schemas_of_any_name_are_read(url, schemas, relation):
    catalog = await catalog_of(url, schemas)

    assert relation in catalog.relations


@pytest.mark.parametrize(
    ("name", "expected"),
    [("projectx", "projects"), ("projecxx", "projects"), ("projxxxx", None), ("faketable", None)],
)
def test_hints_for_relations(catalog, name, expected):
    assert best_match(name, sorted(each for _, each in catalog.relations), 0.75) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("sayhell", "sayhello"), ("unnamed_int_param", "unnamed_text_param")]
)
def test_hints_for_functions(catalog, name, expected):
    assert best_match(name, sorted(each for _, each in catalog.functions), 0.75) == expected
