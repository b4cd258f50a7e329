"""Relations, columns, functions, types and roles as the schema cache sees them, read by a login role without rights."""

from pathlib import Path

import asyncpg
import pytest

from tests.workers.database.introspection_fixtures import (
    as_role,
    catalog_of,
    connected,
    fresh_database,
    login_role,
)
from workers.database.schema_cache.catalog import Catalog, MediaHandler, Returns
from workers.database.schema_cache.catalog_rows import (
    CatalogColumnRow,
    CatalogRelationRow,
    CatalogRows,
    ConstraintRow,
    ServerInfo,
)
from workers.database.schema_cache.introspect import IntrospectOptions, catalog_from, introspect

SCHEMA = Path(__file__).with_name("introspect.sql").read_text()
LOGIN = "introspect_login"


@pytest.fixture(scope="module")
async def catalog(server):
    async with fresh_database(server.url, login_role(LOGIN, "introspect_web"), SCHEMA) as url:
        yield await catalog_of(as_role(url, LOGIN), ["api", "missing"], ["extra"])


def relation(catalog, name):
    return catalog.relations["api", name]


def function(catalog, name):
    (only,) = catalog.functions["api", name]
    return only


def test_relations_of_every_kind_are_there_and_nothing_else(catalog):
    kinds = {name: each.kind for (_, name), each in catalog.relations.items()}

    assert kinds == {
        "kinds": "r",
        "Mixed": "r",
        "empty": "r",
        "guarded": "r",
        "editable": "v",
        "fixed_view": "v",
        "by_trigger": "v",
        "with_default": "v",
        "stored": "m",
        "remote": "f",
        "read_only": "f",
        "parted": "p",
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kinds", (True, True, True)),
        ("parted", (True, True, True)),
        ("editable", (True, True, True)),
        ("fixed_view", (False, False, False)),
        ("by_trigger", (True, False, False)),
        ("stored", (False, False, False)),
        ("remote", (False, False, False)),
        ("read_only", (False, False, False)),
    ],
)
def test_what_can_be_written_is_known(catalog, name, expected):
    found = relation(catalog, name)

    assert (found.insertable, found.updatable, found.deletable) == expected


@pytest.mark.parametrize(
    ("flag", "expected"), [("keeps_inserts", {"kinds", "empty"}), ("keeps_updates", {"kinds", "guarded"})]
)
def test_tables_that_keep_every_written_row_are_known(catalog, flag, expected):
    keeping = {name for (_, name), relation in catalog.relations.items() if getattr(relation, flag)}

    assert keeping == expected  # not: a trigger before the row, a rule, partitions, views


def test_comments_and_row_security_are_kept(catalog):
    assert relation(catalog, "kinds").comment == "All kinds"
    assert relation(catalog, "kinds").columns["plain"].comment == "Only text"
    assert relation(catalog, "editable").comment == "Can be written"
    assert relation(catalog, "editable").columns["id"].comment is None
    assert relation(catalog, "guarded").row_security
    assert not relation(catalog, "kinds").row_security


def test_columns_keep_the_order_of_the_table(catalog):
    assert list(relation(catalog, "kinds").columns)[:6] == [
        "id",
        "always_id",
        "serial_id",
        "plain",
        "required",
        "named",
    ]
    assert relation(catalog, "empty").columns == {}


@pytest.mark.parametrize(
    ("column", "type_", "full", "base"),
    [
        ("id", "bigint", "bigint", "bigint"),
        ("named", "character varying", "character varying(20)", "character varying"),
        ("fixed", "character", "character(4)", "character"),
        ("one_char", "character", "character(1)", "character"),
        ("bits", "bit", "bit(3)", "bit"),
        ("amount", "numeric", "numeric(10,2)", "numeric"),
        ("at", "timestamp with time zone", "timestamp with time zone", "timestamp with time zone"),
        ("feeling", "api.mood", "api.mood", "api.mood"),
        ("feelings", "api.mood[]", "api.mood[]", "api.mood[]"),
        ("good", "api.good_mood", "api.good_mood", "api.mood"),
        ("word", "api.short", "api.short", "character varying"),
        ("deep", "api.shorter", "api.shorter", "character varying"),
        ("since", "hidden.year", "hidden.year", "integer"),
        ("place", "api.point", "api.point", "api.point"),
        ("names", "text[]", "text[]", "text[]"),
        ("data", "jsonb", "jsonb", "jsonb"),
    ],
)
def test_types_are_spelled_with_their_schema_modifier_and_base(catalog, column, type_, full, base):
    found = relation(catalog, "kinds").columns[column]

    assert (found.type, found.full_type, found.base_type) == (type_, full, base)


@pytest.mark.parametrize(
    ("column", "default"),
    [
        ("id", "nextval('api.kinds_id_seq')"),
        ("always_id", None),
        ("serial_id", "nextval('api.kinds_serial_id_seq'::regclass)"),
        ("plain", None),
        ("named", "'a''b'::character varying"),
        ("at", "now()"),
        ("doubled", None),
        ("feeling", "'ok'::api.mood"),
        ("word", "'abc'::character varying"),
        ("own_word", "'xyz'::character varying"),
        ("deep", "'abc'::character varying"),
        ("since", None),
    ],
)
def test_defaults_are_those_of_the_column_then_of_its_domain_or_sequence(catalog, column, default):
    assert relation(catalog, "kinds").columns[column].default == default


def test_defaults_of_views_foreign_tables_and_odd_names_are_found(catalog):
    assert relation(catalog, "with_default").columns["plain"].default == "'filled'::text"
    assert relation(catalog, "remote").columns["name"].default == "'far'::text"
    assert relation(catalog, "Mixed").columns["Id"].default == "nextval('api.\"Mixed_Id_seq\"')"


@pytest.mark.parametrize(
    ("column", "length"),
    [("plain", None), ("named", 20), ("fixed", 4), ("bits", 3), ("var_bits", 7), ("word", 5), ("deep", 5)],
)
def test_lengths_come_from_the_column_or_its_domain(catalog, column, length):
    assert relation(catalog, "kinds").columns[column].max_length == length


@pytest.mark.parametrize(
    ("column", "nullable"),
    [("id", False), ("plain", True), ("required", False), ("word", False), ("good", True)],
)
def test_a_column_is_not_nullable_by_itself_or_by_its_domain(catalog, column, nullable):
    assert relation(catalog, "kinds").columns[column].nullable is nullable


def test_labels_belong_to_enums_and_domains_over_them(catalog):
    columns = relation(catalog, "kinds").columns

    assert columns["feeling"].enum == ("sad", "ok", "happy")
    assert columns["good"].enum == ("sad", "ok", "happy")
    assert columns["feelings"].enum == ()
    assert columns["plain"].enum == ()


def test_generated_and_identity_columns_are_marked(catalog):
    columns = relation(catalog, "kinds").columns

    assert [name for name, each in columns.items() if each.is_generated] == ["doubled"]
    assert [name for name, each in columns.items() if each.is_identity_always] == ["always_id"]


def test_callable_functions_are_those_with_named_arguments_or_one_body(catalog):
    names = {name for _, name in catalog.functions}

    assert {"add", "over", "unnamed_text", "no_arguments", "lengths"} <= names
    assert not names & {
        "unnamed_int",
        "half_named",
        "two_bodies",
        "on_trigger",
        "proceed",
        "total",
        "unseen",
        "label",
    }


def test_arguments_have_names_types_and_defaults(catalog):
    add = function(catalog, "add")

    assert [(each.name, each.type, each.is_required) for each in add.arguments] == [
        ("a", "integer", True),
        ("b", "integer", False),
    ]
    assert (add.volatility, add.comment, add.returns_set) == ("i", "Adds", False)


def test_overloads_stay_together(catalog):
    overloads = catalog.functions["api", "over"]

    assert [[each.name for each in one.arguments] for one in overloads] == [["a"], ["a", "b"], [""]]


def test_variadic_arguments_are_marked(catalog):
    many = function(catalog, "many")

    assert any(argument.is_variadic for argument in many.arguments)
    assert [(each.name, each.type, each.is_variadic, each.is_required) for each in many.arguments] == [
        ("name", "text", False, True),
        ("rest", "integer[]", True, False),
    ]


def test_lengths_of_arguments_are_dropped(catalog):
    arguments = function(catalog, "lengths").arguments

    assert [each.type for each in arguments] == [
        "character",
        "character[]",
        "bit",
        "character varying",
        "api.mood",
    ]
    assert [each.cast_type for each in arguments] == [
        "pg_catalog.bpchar",
        "pg_catalog.bpchar[]",
        'pg_catalog."bit"',
        "character varying",
        "api.mood",
    ]


async def test_casts_of_arguments_keep_every_sign(server, catalog):
    types = [each.cast_type for each in function(catalog, "lengths").arguments][:3]

    async with connected(server.url) as connection:
        kept = await connection.fetchrow(
            f"select 'abcd'::{types[0]}::text, '{{abcd}}'::{types[1]}::text, '1011'::{types[2]}::text"
        )

    assert tuple(kept) == ("abcd", "{abcd}", "1011")


@pytest.mark.parametrize(
    ("name", "returns", "is_set", "type_"),
    [
        ("gives_void", Returns.VOID, False, ("pg_catalog", "void")),
        ("gives_table", Returns.COMPOSITE, True, ("pg_catalog", "record")),
        ("gives_one_column", Returns.COMPOSITE, True, ("pg_catalog", "int4")),
        ("gives_out", Returns.COMPOSITE, False, ("pg_catalog", "int4")),
        ("gives_inout", Returns.COMPOSITE, False, ("pg_catalog", "record")),
        ("gives_rows", Returns.COMPOSITE, True, ("api", "kinds")),
        ("gives_row", Returns.COMPOSITE, False, ("api", "editable")),
        ("gives_point", Returns.COMPOSITE, False, ("api", "point")),
        ("gives_alias", Returns.COMPOSITE, False, ("api", "point")),
        ("gives_domain", Returns.SCALAR, False, ("api", "short")),
        ("gives_enum", Returns.SCALAR, False, ("api", "mood")),
        ("gives_array", Returns.SCALAR, False, ("pg_catalog", "_int4")),
        ("gives_set", Returns.SCALAR, True, ("pg_catalog", "int4")),
        ("gives_record", Returns.SCALAR, False, ("pg_catalog", "record")),
    ],
)
def test_shapes_of_results_are_known(catalog, name, returns, is_set, type_):
    found = function(catalog, name)

    assert (found.returns, found.returns_set, found.return_type) == (returns, is_set, type_)


def test_only_arguments_that_go_in_are_arguments(catalog):
    assert [each.name for each in function(catalog, "gives_out").arguments] == ["n"]
    assert [(each.name, each.is_required) for each in function(catalog, "gives_inout").arguments] == [
        ("n", True),
        ("label", False),
    ]
    assert [each.name for each in function(catalog, "gives_table").arguments] == ["n"]


def test_the_relation_whose_rows_are_returned_is_named(catalog):
    assert function(catalog, "gives_rows").returned_relation == ("api", "kinds")
    assert function(catalog, "gives_row").returned_relation == ("api", "editable")
    assert function(catalog, "gives_hidden").returned_relation == ("hidden", "secret")
    assert function(catalog, "gives_point").returned_relation is None
    assert function(catalog, "gives_set").returned_relation is None


def test_a_domain_over_a_composite_type_is_an_alias(catalog):
    assert function(catalog, "gives_alias").is_composite_alias
    assert not function(catalog, "gives_point").is_composite_alias
    assert not function(catalog, "gives_domain").is_composite_alias


def test_settings_of_a_function_are_kept_with_its_isolation(catalog):
    tuned = function(catalog, "tuned")

    assert tuned.settings == (
        ("statement_timeout", "10s"),
        ("default_transaction_isolation", "SERIALIZABLE"),
        ("search_path", "api, hidden"),
    )
    assert tuned.isolation == "serializable"
    assert function(catalog, "add").isolation is None


def test_computed_fields_lie_in_exposed_schemas_and_the_search_path(catalog):
    fields = {
        relation: [(each.function, each.type) for each in found]
        for relation, found in catalog.computed_fields.items()
    }

    assert fields == {
        ("api", "kinds"): [(("api", "label"), "text"), (("extra", "far_label"), "api.mood")],
        ("api", "editable"): [(("api", "point_of"), "api.point")],
    }


def test_representations_are_implicit_casts_of_domains(catalog):
    found = catalog.representations

    assert found.to_json == {"api.color": ("api", "json"), "api.one_way": ("api", "json")}
    assert found.from_json == {"api.color": ("api", "color")}
    assert found.from_text == {"api.color": ("api", "color")}


def test_media_handlers_are_aggregates_over_rows_and_functions(catalog):
    assert set(catalog.media_handlers) == {
        MediaHandler("text/html", ("api", "page"), None, is_scalar=True),
        MediaHandler("*/*", ("api", "anything"), None, is_scalar=True, base_type="bytea"),
        MediaHandler("text/html", ("api", "html_step"), None, is_scalar=True),
        MediaHandler("text/html", ("api", "int_step"), None, is_scalar=True),
        MediaHandler("application/vnd.x+json", ("api", "x_final"), None, is_scalar=True, base_type="jsonb"),
        MediaHandler("text/html", ("api", "html_of_kinds"), ("api", "kinds")),
        MediaHandler("application/vnd.x+json", ("api", "x_of_any"), None, base_type="jsonb"),
    }


def test_schemas_keep_their_order_and_comments_whether_they_exist_or_not(catalog):
    assert list(catalog.schemas.items()) == [("api", "The interface"), ("missing", None)]


async def test_the_server_is_described(server, catalog):
    async with connected(server.url) as connection:
        version = int(await connection.fetchval("show server_version_num"))

    assert catalog.server_version == version
    assert catalog.version == 1


async def test_roles_have_the_settings_that_may_be_applied(server):
    roles = login_role("introspect_authenticator", "introspect_plain", "introspect_tuned")
    tuned = """
        alter role introspect_authenticator set pgrst.db_schemas = 'api';
        alter role introspect_tuned set statement_timeout = '3s';
        alter role introspect_tuned set log_min_duration_statement = '5s';
        alter role introspect_tuned set deadlock_timeout = '2s';
        alter role introspect_tuned set "DateStyle" = 'ISO, DMY';
        alter role introspect_tuned set default_transaction_isolation = 'REPEATABLE READ';
        do $$ begin
          execute format('alter role introspect_tuned in database %I set statement_timeout = ''7s''', current_database());
        end $$;
        grant set on parameter deadlock_timeout to introspect_authenticator;
        create role introspect_stranger;
    """
    try:
        async with fresh_database(server.url, roles, tuned) as url:
            catalog = await catalog_of(as_role(url, "introspect_authenticator"), ["public"])
    finally:
        async with connected(server.url) as connection:
            await connection.execute(
                "revoke set on parameter deadlock_timeout from introspect_authenticator;"
                "drop role introspect_stranger; drop role introspect_tuned"
            )

    assert set(catalog.roles) == {"introspect_plain", "introspect_tuned"}
    assert catalog.roles["introspect_plain"].settings == ()
    assert catalog.roles["introspect_plain"].isolation is None
    assert dict(catalog.roles["introspect_tuned"].settings) == {
        "statement_timeout": "7s",
        "deadlock_timeout": "2s",
        "DateStyle": "ISO, DMY",
    }
    assert catalog.roles["introspect_tuned"].isolation == "repeatable read"


async def test_an_empty_database_gives_an_empty_catalog(server):
    async with fresh_database(server.url) as url:
        catalog = await catalog_of(url, ["public"])

    assert (catalog.relations, catalog.relationships, catalog.functions) == ({}, {}, {})


async def test_reading_leaves_the_connection_as_it_was(server):
    async with fresh_database(server.url) as url, connected(url) as connection:
        await connection.execute("set search_path = pg_catalog, public; set statement_timeout = '9s'")
        await introspect(connection, IntrospectOptions(("public",)), 1)

        kept = await connection.fetchrow(
            "select current_setting('search_path'), current_setting('statement_timeout')"
        )

    assert tuple(kept) == ("pg_catalog, public", "9s")


async def test_a_lock_held_by_a_migration_fails_the_read_instead_of_waiting(server):
    async with fresh_database(server.url, "create view v as select 1 as a") as url:
        await _refused_while_dropping(url)


async def _refused_while_dropping(url):
    async with connected(url) as migration, migration.transaction():
        await migration.execute("drop view v")
        with pytest.raises(asyncpg.LockNotAvailableError):
            await catalog_of(url, ["public"])


def test_rows_become_a_catalog_without_a_database():
    rows = CatalogRows(
        server=ServerInfo(180000, {"s": None}),
        relations=[
            CatalogRelationRow(1, "s", "a", "r", False, 28, None),
            CatalogRelationRow(2, "s", "b", "r", False, 0, None),
        ],
        columns=[
            CatalogColumnRow(1, 1, "id", "integer", None, None, 23, False, None, None, False, False, None),
            CatalogColumnRow(2, 2, "a_id", "integer", None, None, 23, True, None, None, False, False, None),
        ],
        constraints=[
            ConstraintRow("a_pkey", "p", 1, [1], 0, None),
            ConstraintRow("b_a", "f", 2, [2], 1, [1]),
            ConstraintRow("to_elsewhere", "f", 2, [2], 99, [1]),
            ConstraintRow("from_elsewhere", "f", 99, [1], 1, [1]),
        ],
    )

    made = catalog_from(rows, IntrospectOptions(("s",)), 5)

    assert isinstance(made, Catalog)
    assert made.version == 5
    assert made.relations["s", "a"].primary_key == ("id",)
    assert made.relations["s", "a"].insertable
    assert not made.relations["s", "b"].insertable
    assert [each.constraint for each in made.relationships["s", "b"]] == ["b_a"]
    assert [each.columns for each in made.relationships["s", "a"]] == [(("id", "a_id"),)]
