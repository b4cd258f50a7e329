"""Inserts, updates, upserts and deletes as SQL: reference page, sections 13 and 24."""

import pytest

from tests.workers.rest.query.fragments import change

FULL = "return=representation"
CLIENTS = '"public"."clients"'


@pytest.mark.parametrize(
    ("method", "target", "body", "prefer", "expected"),
    [
        (
            "POST", "/clients", '{"id":1,"name":"x"}', "",
            f'insert into {CLIENTS} ("id", "name") select hw_body."id", hw_body."name" from pg_catalog.json_to_record($1::json) as hw_body("id" integer, "name" text) returning 1',
        ),
        (
            "POST", "/clients", '[{"name":"x"}]', FULL,
            f'insert into {CLIENTS} ("name") select hw_body."name" from pg_catalog.json_to_recordset($1::json) as hw_body("name" text) returning {CLIENTS}."id", {CLIENTS}."name"',
        ),
        ("POST", "/clients", "{}", "", f"insert into {CLIENTS} default values returning 1"),
        ("POST", "/clients", "[{},{}]", "", f"insert into {CLIENTS} select from pg_catalog.json_array_elements($1::json) as hw_body returning 1"),
        (
            "POST", "/clients", '{"name":"x"}', "resolution=ignore-duplicates",
            f'insert into {CLIENTS} ("name") select hw_body."name" from pg_catalog.json_to_record($1::json) as hw_body("name" text) on conflict ("id") do nothing returning 1',
        ),
        ("POST", "/clients", "{}", "resolution=merge-duplicates", f'insert into {CLIENTS} default values on conflict ("id") do nothing returning 1'),
        (
            "PATCH", "/clients?id=eq.1", '{"name":"x"}', "",
            f'update {CLIENTS} set "name" = hw_body."name" from (select * from pg_catalog.json_to_record($1::json) as hw_body("name" text) limit 1) as hw_body where {CLIENTS}."id" = $2 returning 1',
        ),
        (
            "PATCH", "/clients?key=id", '[{"id":1,"name":"x"}]', "",
            f'update {CLIENTS} set "name" = hw_body."name" from pg_catalog.json_to_recordset($1::json) as hw_body("id" integer, "name" text) where {CLIENTS}."id" = hw_body."id" returning 1',
        ),
        ("PATCH", "/clients", "{}", "", "select 1 where false"),
        ("PATCH", "/clients?select=id", "{}", FULL, f'select {CLIENTS}."id" from {CLIENTS} where false'),
        ("DELETE", "/clients", None, "", f"delete from {CLIENTS} returning 1"),
        ("DELETE", "/clients?id=in.(1)&select=name", None, FULL, f'delete from {CLIENTS} where {CLIENTS}."id" = any($1) returning {CLIENTS}."name"'),
    ],
)  # fmt: skip
def test_changes(method: str, target: str, body: str | None, prefer: str, expected: str) -> None:
    assert change(method, target, body, prefer=prefer) == expected


@pytest.mark.parametrize(
    ("method", "target", "body", "notes"),
    [
        ("POST", "/clients", '{"id":1,"name":"x"}', 1),
        ("POST", "/clients", '[{"id":1,"name":"x"}]', 1),
        ("POST", "/project_list?on_conflict=id", '[{"id":1,"name":"x"}]', 2),
        ("PUT", "/clients?id=eq.1", '[{"id":1,"name":"x"},{"id":2,"name":"y"}]', 2),
    ],
)
def test_a_merge_notes_what_it_updates(method: str, target: str, body: str, notes: int) -> None:
    """And what was offered, where the URL may leave out rows of the body."""
    text = change(method, target, body, prefer="resolution=merge-duplicates")

    assert 'on conflict ("id") do update set "id" = excluded."id", "name" = excluded."name" where' in text
    assert text.count("set_config('hw.inserted'") == notes


def test_an_upsert_by_put_holds_its_key_against_the_url() -> None:
    text = change("PUT", "/clients?id=eq.1", '{"id":1,"name":"x"}')

    assert 'where hw_body."id" = $2 on conflict' in text
    assert 'on conflict ("id") do update' in text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('{"name":"x"}', "from pg_catalog.jsonb_to_record(pg_catalog.jsonb_build_object('name', 'it''s new'::character varying, 'size', 7) || $1::jsonb) as"),
        ('[{"name":"x"}]', "'size', 7) || hw_element) from pg_catalog.jsonb_array_elements($1::jsonb) as hw_element)) as"),
    ],
)  # fmt: skip
def test_missing_values_are_laid_over_by_what_was_sent(body: str, text: str) -> None:
    assert text in change("POST", "/items?columns=name,size", body, prefer="missing=default")


def test_columns_without_a_default_need_no_filling() -> None:
    assert "jsonb" not in change("POST", "/clients?columns=name", '{"name":"x"}', prefer="missing=default")


def test_a_representation_reads_its_columns() -> None:
    text = change("POST", "/items", '{"tint":"red"}')

    assert 'select "public"."color_of"(hw_body."tint") from' in text
    assert 'as hw_body("tint" json)' in text


def test_names_are_quoted() -> None:
    text = change("POST", '/odd "table', '{"we\\"ird":1,"a.b":"x"}')

    assert text.startswith('insert into "public"."odd ""table" ("a.b", "we""ird") select')
