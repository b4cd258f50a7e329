"""Postgres types, defaults and comments in a Swagger document: reference page, section 17."""

from dataclasses import replace

import pytest

from tests.workers.rest.plan.catalogs import CATALOG
from workers.database.schema_cache.catalog import CatalogArgument, CatalogColumn
from workers.rest.openapi.types import argument_property, column_property, swagger_type, typed


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("text", "string"), ("character varying", "string"), ("character", "string"), ("boolean", "boolean"), ("smallint", "integer"),
        ("integer", "integer"), ("bigint", "integer"), ("numeric", "number"), ("real", "number"), ("double precision", "number"),
        ("json", None), ("jsonb", None), ("integer[]", "array"), ("jsonb[]", "array"), ("uuid", "string"), ("timestamp with time zone", "string"),
        ("bytea", "string"), ("public.mood", "string"),
    ],
)  # fmt: skip
def test_types(name: str, kind: str | None) -> None:
    assert swagger_type(name) == kind


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("integer", {"format": "int32", "type": "integer"}),
        ("smallint", {"format": "int32", "type": "integer"}),
        ("bigint", {"format": "int64", "type": "integer"}),
        ("text", {"format": "text", "type": "string"}),
        ("jsonb", {"format": "jsonb"}),
        ("integer[]", {"format": "integer[]", "type": "array", "items": {"type": "integer"}}),
        ("json[]", {"format": "json[]", "type": "array", "items": {}}),
    ],
)
def test_shapes(name: str, shape: dict[str, object]) -> None:
    assert typed(name) == shape


def column(**changes: object) -> dict[str, object]:
    """Return the property of a column that is in no key."""
    plain = CatalogColumn("name", "text", "text", base_type="text")
    return column_property(CATALOG, CATALOG.relations["public", "clients"], replace(plain, **changes))  # type: ignore[arg-type]  # its fields


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"format": "text", "type": "string"}),
        ({"type": "character varying", "max_length": 20}, {"format": "character varying", "type": "string", "maxLength": 20}),
        ({"enum": ("a", "b")}, {"format": "text", "type": "string", "enum": ["a", "b"]}),
        ({"comment": "What it is"}, {"format": "text", "type": "string", "description": "What it is"}),
        ({"type": "public.color", "base_type": "integer"}, {"format": "public.color", "type": "integer"}),
    ],
)  # fmt: skip
def test_properties(changes: dict[str, object], expected: dict[str, object]) -> None:
    assert column(**changes) == expected


@pytest.mark.parametrize(
    ("kind", "default", "shown"),
    [
        ("jsonb", "'" + "[" * 2000 + "]" * 2000 + "'::jsonb", None),
        ("text", "'it''s'::text", "it's"),
        ("text", "'plain'", "plain"),
        ("text", "now()", "now()"),
        ("integer", "7", 7),
        ("integer", "'7'::integer", 7),
        ("integer", "nextval('s')", None),
        ("numeric", "1.5", 1.5),
        ("boolean", "true", True),
        ("jsonb", "'{\"a\": 1}'::jsonb", {"a": 1}),
        ("date", "CURRENT_DATE", "CURRENT_DATE"),
        ("integer[]", "'{1,2}'::integer[]", "{1,2}"),
    ],
)
def test_defaults_are_json_where_they_can_be(kind: str, default: str, shown: object) -> None:
    assert column(type=kind, base_type=kind, default=default).get("default") == shown


@pytest.mark.parametrize(
    ("relation", "name", "description"),
    [
        ("clients", "id", "Note:\nThis is a Primary Key.<pk/>"),
        ("projects", "client_id", "Note:\nThis is a Foreign Key to `clients.id`.<fk table='clients' column='id'/>"),
        ("badges", "user_id", "Note:\nThis is a Primary Key.<pk/>\nThis is a Foreign Key to `users.id`.<fk table='users' column='id'/>"),
        ("projects", "name", None),
    ],
)  # fmt: skip
def test_keys_are_noted(relation: str, name: str, description: str | None) -> None:
    found = CATALOG.relations["public", relation]

    assert column_property(CATALOG, found, found.columns[name]).get("description") == description


def test_a_note_stands_behind_the_comment() -> None:
    found = CATALOG.relations["public", "clients"]

    described = column_property(CATALOG, found, replace(found.columns["id"], comment="The number"))

    assert described["description"] == "The number\n\nNote:\nThis is a Primary Key.<pk/>"


@pytest.mark.parametrize(
    ("kind", "shown"),
    [("integer", "int32"), ("public.color", "color"), ("other.color", "other.color"), ("text[]", "text[]")],
)
def test_arguments_leave_out_the_schema_of_the_request(kind: str, shown: str) -> None:
    assert argument_property(CatalogArgument("a", kind), "public")["format"] == shown
