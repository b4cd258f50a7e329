"""Inserts, updates, upserts and deletes against the catalog: reference page, section 13."""

import pytest

from tests.workers.rest.plan.asking import plan
from workers.rest.errors.base import RestError
from workers.rest.errors.execute import UpsertKeyMismatch
from workers.rest.errors.parse import BadBody, BadQuery, LimitOnUpsert
from workers.rest.errors.plan import BadUpsertFilters, FilterRequired, NoColumn
from workers.rest.model import RelationWrite, WriteColumn
from workers.sql.compose import ParameterSlot

FULL = {"prefer": "return=representation"}


def write(method: str, target: str, body: str | None = None, /, **headers: str | bool) -> RelationWrite:
    found = plan(method, target, body, **headers).write
    assert found is not None
    return found


def names(found: RelationWrite) -> list[str]:
    return [each.name for each in found.columns]


def test_columns_carry_what_the_statement_needs_of_them() -> None:
    found = write("POST", "/items", '{"name":"x","size":1,"tint":"#fff"}')

    assert found.columns == (
        WriteColumn("name", "character varying(20)", "'it''s new'::character varying"),
        WriteColumn("size", "integer", "7"),
        WriteColumn("tint", "public.color", None, ("public", "color_of")),
    )


@pytest.mark.parametrize(
    ("target", "body", "columns", "is_array"),
    [
        ("/clients", '{"name":"x","id":1}', ["id", "name"], False),
        ("/clients", '[{"name":"x","id":1}]', ["id", "name"], True),
        ("/clients?columns=name", '{"name":"x","zzz":1}', ["name"], False),
        ("/clients?columns=name,id", '[{"name":"x"},{"id":1}]', ["name", "id"], True),
        ("/clients", "{}", [], False),
        ("/clients", "[]", [], True),
        ("/clients", "[{},{}]", [], True),
        ("/clients", "7", [], True),
    ],
)
def test_columns_are_those_of_the_payload_or_the_parameter(
    target: str, body: str, columns: list[str], is_array: bool
) -> None:
    found = write("POST", target, body)

    assert (names(found), found.is_array) == (columns, is_array)


@pytest.mark.parametrize(
    ("method", "target", "body", "column"),
    [
        ("POST", "/clients", '{"nope":1}', "nope"),
        ("PATCH", "/clients", '{"Name":1}', "Name"),
        ("POST", "/clients?columns=id,nope", '{"id":1}', "nope"),
        ("PUT", "/clients?id=eq.1", '{"id":1,"nope":1}', "nope"),
        ("POST", "/projects", '{"shout":1}', "shout"),
    ],
)
def test_unknown_columns_are_refused(method: str, target: str, body: str, column: str) -> None:
    with pytest.raises(NoColumn) as caught:
        plan(method, target, body)

    relation = target[1:].partition("?")[0]
    assert (caught.value.code, caught.value.status) == ("PGRST204", 400)
    assert caught.value.message == f"Could not find the '{column}' column of '{relation}' in the schema cache"


MERGE, IGNORE = "resolution=merge-duplicates", "resolution=ignore-duplicates"


@pytest.mark.parametrize(
    ("target", "prefer", "conflict", "resolution"),
    [
        ("/clients", MERGE, ("id",), "merge-duplicates"),
        ("/clients", IGNORE, ("id",), "ignore-duplicates"),
        ("/clients?on_conflict=name", MERGE, ("name",), "merge-duplicates"),
        ("/users_tasks", MERGE, ("user_id", "task_id"), "merge-duplicates"),
        ("/lines", MERGE, (), None),
        ("/lines?on_conflict=line", MERGE, ("line",), "merge-duplicates"),
        ("/clients?on_conflict=name", "", ("name",), None),
        ("/clients", "", ("id",), None),
    ],
)
def test_conflicts_are_on_the_key_or_on_what_was_named(
    target: str, prefer: str, conflict: tuple[str, ...], resolution: str | None
) -> None:
    found = write("POST", target, "{}", prefer=prefer)

    assert (found.conflict, found.resolution) == (conflict, resolution)


@pytest.mark.parametrize(("method", "target"), [("PATCH", "/clients"), ("DELETE", "/clients")])
def test_only_inserts_resolve_conflicts(method: str, target: str) -> None:
    assert write(method, target, '{"name":"x"}', prefer=MERGE).resolution is None


@pytest.mark.parametrize(
    ("prefer", "fills"), [("missing=default", True), ("missing=null", False), ("", False)]
)
def test_missing_values_may_be_defaults(prefer: str, fills: bool) -> None:
    assert write("POST", "/items?columns=name,size", '[{"size":1}]', prefer=prefer).fills_defaults is fills
    assert write("PATCH", "/items?columns=name,size", '{"size":1}', prefer=prefer).fills_defaults is fills


@pytest.mark.parametrize(
    ("target", "checked"),
    [("/clients?id=eq.7", ["id"]), ("/users_tasks?task_id=eq.1&user_id=eq.2", ["task_id", "user_id"])],
)
def test_put_names_its_key_in_the_url(target: str, checked: list[str]) -> None:
    body = '{"id":7,"name":"x"}' if "clients" in target else '{"user_id":2,"task_id":1}'

    found = write("PUT", target, body)

    assert [name for name, _ in found.key_check] == checked
    assert all(isinstance(operand, ParameterSlot) for _, operand in found.key_check)
    assert found.resolution == "merge-duplicates"
    assert found.where == ()
    assert set(checked) <= set(found.returning)


@pytest.mark.parametrize(
    "target",
    [
        "/clients", "/clients?name=eq.x", "/clients?id=eq.1&name=eq.x", "/clients?id=gt.1", "/clients?id=not.eq.1",
        "/clients?id=in.(1)", "/clients?id=eq(any).{1}", "/clients?id=eq.1&or=(id.eq.1)", "/clients?and=(id.eq.1)",
        "/clients?id->x=eq.1", "/users_tasks?user_id=eq.1", "/lines?line=eq.x", "/clients?id=is.null", "/clients?id=eq(col).name",
    ],
)  # fmt: skip
def test_put_takes_exactly_its_key_as_filters(target: str) -> None:
    with pytest.raises(BadUpsertFilters) as caught:
        plan("PUT", target, '{"id":1,"name":"x"}' if target.startswith("/clients") else "{}")

    assert (caught.value.code, caught.value.status) == ("PGRST105", 405)
    assert caught.value.message == "Filters must include all and only primary key columns with 'eq' operators"


@pytest.mark.parametrize("body", ['{"name":"x"}', "{}", "[]"])
def test_put_has_its_key_in_the_body_too(body: str) -> None:
    with pytest.raises(UpsertKeyMismatch):
        plan("PUT", "/clients?id=eq.1", body)


def test_put_takes_no_limit() -> None:
    with pytest.raises(LimitOnUpsert):
        plan("PUT", "/clients?id=eq.1&limit=1", '{"id":1}')


@pytest.mark.parametrize(
    ("body", "is_no_op"), [("{}", True), ("[]", True), ("[{}]", True), ('{"name":"x"}', False), ('[{"name":"x"}]', False)]
)  # fmt: skip
def test_a_change_of_nothing_is_none(body: str, is_no_op: bool) -> None:
    assert write("PATCH", "/clients?id=eq.1", body).is_no_op is is_no_op


@pytest.mark.parametrize(
    ("method", "target", "prefer", "returning"),
    [
        ("POST", "/clients", "", ()),
        ("POST", "/clients?select=id", "return=minimal", ()),
        ("POST", "/clients", "return=headers-only", ("id",)),
        ("POST", "/lines", "return=headers-only", ()),
        ("POST", "/clients?select=name", "return=representation", ("name",)),
        ("PATCH", "/clients?select=name&order=id", "return=representation", ("id", "name")),
        ("DELETE", "/projects?select=name,clients(name)", "return=representation", ("name", "client_id")),
        ("DELETE", "/clients?select=name,projects(name)", "return=representation", ("id", "name")),
        ("DELETE", "/users?select=name,tasks(name)", "return=representation", ("id", "name")),
        ("DELETE", "/clients", "return=representation", ("id", "name")),
        ("DELETE", "/clients?select=name,id", "return=representation", ("id", "name")),
        ("DELETE", "/tasks?select=n:name::text,id.count()", "return=representation", ("name", "id")),
    ],
)
def test_only_what_is_shown_is_returned(
    method: str, target: str, prefer: str, returning: tuple[str, ...]
) -> None:
    assert write(method, target, "{}", prefer=prefer).returning == returning


@pytest.mark.parametrize("select", ["shout", "lead(name)", "*"])
def test_functions_of_the_row_need_the_whole_of_it(select: str) -> None:
    found = write("DELETE", f"/projects?select={select}", **FULL)

    assert found.returning == ("id", "name", "client_id", "meta", "tags", "period", "words", "born")


@pytest.mark.parametrize(
    ("method", "prefer", "location"),
    [("POST", "return=headers-only", ("id",)), ("POST", "return=representation", ()), ("PATCH", "return=headers-only", ())],
)  # fmt: skip
def test_a_location_is_for_inserts_that_ask_for_it(
    method: str, prefer: str, location: tuple[str, ...]
) -> None:
    assert write(method, "/clients", '{"name":"x"}', prefer=prefer).location == location


def test_views_have_the_key_of_their_table() -> None:
    assert write("POST", "/project_list", '{"id":1}', prefer="return=headers-only").location == ("id",)


@pytest.mark.parametrize(
    ("target", "body", "matched", "is_no_op"),
    [
        ("/clients?key=id", '[{"id":1,"name":"x"}]', ("id",), False),
        ("/clients?key=id", '[{"id":1}]', ("id",), True),
        ("/clients?key=id", "[]", ("id",), True),
        ("/clients?key=id,name&columns=id,name", '[{"id":1}]', ("id", "name"), True),
    ],
)
def test_rows_of_a_keyed_change_find_theirs(
    target: str, body: str, matched: tuple[str, ...], is_no_op: bool
) -> None:
    found = write("PATCH", target, body)

    assert (found.matched_by, found.is_no_op) == (matched, is_no_op)


@pytest.mark.parametrize(
    ("method", "target", "body", "refusal"),
    [
        ("PATCH", "/clients?key=id", '[{"name":"x"}]', BadBody),
        ("PATCH", "/clients?key=id&columns=name", '[{"id":1,"name":"x"}]', BadBody),
        ("POST", "/clients?key=id", '[{"id":1}]', BadQuery),
        ("DELETE", "/clients?key=id", None, BadQuery),
        ("GET", "/clients?key=id", None, BadQuery),
        ("DELETE", "/clients?distinct=true", None, BadQuery),
        ("PATCH", "/clients?having=count().gt.1", '{"name":"x"}', BadQuery),
    ],
)
def test_additions_where_they_mean_nothing_are_refused(
    method: str, target: str, body: str | None, refusal: type[RestError]
) -> None:
    with pytest.raises(refusal):
        plan(method, target, body)


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("PATCH", "/clients", '{"name":"x"}'),
        ("DELETE", "/clients", None),
        ("DELETE", "/clients?select=id,projects(id)&projects.id=eq.1", None),
    ],
)
def test_a_change_without_a_filter_is_rejected_where_filters_are_required(
    method: str, target: str, body: str | None
) -> None:
    with pytest.raises(FilterRequired) as rejected:
        write(method, target, body, require_filters=True, **FULL)

    assert (rejected.value.code, rejected.value.status) == ("21000", 400)
    assert str(rejected.value) == f"{'UPDATE' if body else 'DELETE'} requires a WHERE clause"
    assert write(method, target, body, **FULL).where == ()


@pytest.mark.parametrize("query", ["id=eq.1", "or=(id.eq.1,id.eq.2)", "id=not.is.null"])
def test_a_filter_is_enough_where_filters_are_required(query: str) -> None:
    assert write("DELETE", f"/clients?{query}", None, require_filters=True).where
    assert write("POST", "/clients", '{"name":"x"}', require_filters=True).columns
