"""Rows with their embeds as one SELECT: reference page, sections 9 to 11 and 24."""

import pytest

from tests.workers.rest.plan.asking import ask
from tests.workers.rest.query.fragments import rows, shown, whole
from workers.rest.query.query import query_for
from workers.rest.query.read import count_sql


@pytest.mark.parametrize(
    ("parameters", "end", "params"),
    [
        ("", "", []),
        ("limit=5", " limit 5", []),
        ("offset=5", " offset $1", ["5"]),
        ("limit=5&offset=2000000", " limit 5 offset $1", ["2000000"]),
        ("limit=2000000&offset=6", " limit 2000000 offset $1", ["6"]),
        ("limit=0", " limit 0", []),
        ("offset=0", "", []),
    ],
)
def test_the_limit_stands_in_the_text_and_the_offset_beside_it(
    parameters: str, end: str, params: list[str]
) -> None:
    assert rows(f"/clients?{parameters}") == (
        f'select "public"."clients".* from "public"."clients"{end}',
        params,
    )


@pytest.mark.parametrize(
    ("offset", "bound"), [(1, 64 + 5), (64, 64 + 5), (65, 256 + 5), (1 << 20, (1 << 20) + 5)]
)
def test_pages_share_a_bound(offset: int, bound: int) -> None:
    """With the offset alone Postgres would plan each page anew."""
    assert rows(f"/clients?limit=5&offset={offset}") == (
        f'select * from (select "public"."clients".* from "public"."clients" limit {bound}) as hw_reach limit 5 offset $1',
        [str(offset)],
    )


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (
            "/projects?select=id,clients(name)",
            'select "public"."projects"."id", pg_catalog.row_to_json("projects_clients_1".*) as "clients" from "public"."projects" '
            'left join lateral (select "clients_1"."name" from "public"."clients" as "clients_1" '
            'where "clients_1"."id" = "public"."projects"."client_id") as "projects_clients_1" on true',
        ),
        (
            "/clients?select=id,projects!inner(name)",
            'select "public"."clients"."id", coalesce("clients_projects_1"."hw_rows", \'[]\') as "projects" from "public"."clients" '
            'inner join lateral (select pg_catalog.json_agg("projects_1".*) as "hw_rows" from (select "projects_1"."name" '
            'from "public"."projects" as "projects_1" where "projects_1"."client_id" = "public"."clients"."id") as "projects_1" '
            'having pg_catalog.count(*) > 0) as "clients_projects_1" on true',
        ),
        (
            "/users?select=tasks(id)",
            'select coalesce("users_tasks_1"."hw_rows", \'[]\') as "tasks" from "public"."users" left join lateral '
            '(select pg_catalog.json_agg("tasks_1".*) as "hw_rows" from (select "tasks_1"."id" from "public"."tasks" as "tasks_1" '
            'inner join "public"."users_tasks" as "users_tasks_1_j" on true where "users_tasks_1_j"."user_id" = "public"."users"."id" '
            'and "users_tasks_1_j"."task_id" = "tasks_1"."id") as "tasks_1") as "users_tasks_1" on true',
        ),
        (
            "/projects?select=...clients(client:name)",
            'select "projects_clients_1"."client" as "client" from "public"."projects" left join lateral (select "clients_1"."name" as "client" '
            'from "public"."clients" as "clients_1" where "clients_1"."id" = "public"."projects"."client_id") as "projects_clients_1" on true',
        ),
    ],
)  # fmt: skip
def test_embeds_are_lateral_joins(target: str, expected: str) -> None:
    assert rows(target) == (expected, [])


@pytest.mark.parametrize(
    ("value", "test"),
    [("is.null", "is not distinct from null"), ("not.is.null", "is distinct from null")],
)
def test_a_null_filter_looks_at_the_join(value: str, test: str) -> None:
    text, _ = rows(f"/clients?select=id,projects()&projects={value}")

    assert text.endswith(f' where "clients_projects_1" {test}')
    assert "hw_rows" not in text.partition(" from ")[0]


@pytest.mark.parametrize(
    ("target", "end"),
    [
        ("/orders?select=billing_id,count()", "group by 1"),
        ("/orders?select=count(),billing_id,total.sum()", "group by 2"),
        ("/orders?select=count()", 'from "public"."orders"'),
        ("/projects?select=...clients(name),id.max()", "group by 1"),
        ("/projects?select=...clients(total:id.sum()),name", "group by 2"),
    ],
)
def test_what_is_not_aggregated_groups(target: str, end: str) -> None:
    assert rows(target)[0].endswith(end)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ("select=client_id&distinct=true", 'select distinct "public"."projects"."client_id"'),
        ("select=name&distinct=client_id", 'select distinct on ("public"."projects"."client_id") "public"."projects"."name"'),
        ("select=name&distinct=client_id&order=name", 'order by "public"."projects"."client_id", "public"."projects"."name"'),
        ("select=client_id&having=count().gt.1", "group by 1 having pg_catalog.count(*) > $1"),
        ("select=client_id&having=id.sum().not.lt.1", 'having not (pg_catalog.sum("public"."projects"."id") < $1)'),
    ],
)  # fmt: skip
def test_additions(parameters: str, text: str) -> None:
    assert text in rows(f"/projects?{parameters}")[0]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/clients?name=eq.x&limit=1&order=id", 'select 1 from "public"."clients" where "public"."clients"."name" = $1'),
        ("/clients?select=id,projects(*)", 'select 1 from "public"."clients"'),
        ("/orders?select=billing_id,count()&limit=1", 'select 1 from (select "public"."orders"."billing_id", pg_catalog.count(*) as "count" from "public"."orders" group by 1) hw_groups'),
    ],
)  # fmt: skip
def test_a_count_leaves_out_what_drops_no_row(target: str, expected: str) -> None:
    asked = ask("GET", target)

    assert shown(count_sql(asked.plan.read), asked.values)[0] == expected


def test_a_count_keeps_what_drops_rows() -> None:
    inner, null = (
        ask("GET", f"/clients?{each}")
        for each in ("select=projects!inner()", "select=projects()&projects=is.null")
    )

    assert "inner join lateral" in shown(count_sql(inner.plan.read))[0]
    assert "left join lateral" in shown(count_sql(null.plan.read))[0]
    assert shown(count_sql(inner.plan.read, 11))[0].endswith(" limit 11")


@pytest.mark.parametrize(
    ("target", "headers", "total"),
    [
        ("/clients", {}, "null::bigint"),
        ("/clients?limit=1", {"prefer": "count=exact"}, '(select pg_catalog.count(*) from (select 1 from "public"."clients") as hw_counted)'),
        ("/rpc/letters?limit=1", {"prefer": "count=exact"}, '(select pg_catalog.count(*) from "hw_source")'),
    ],
)  # fmt: skip
def test_totals(target: str, headers: dict[str, str], total: str) -> None:
    assert f'{total} as "total"' in whole(ask("GET", target, **headers))


@pytest.mark.parametrize(
    ("target", "headers", "body"),
    [
        ("/clients", {}, "coalesce(pg_catalog.json_agg(hw_t), '[]')"),
        ("/clients?id=eq.1", {"accept": "application/vnd.pgrst.object+json"}, "coalesce(pg_catalog.json_agg(hw_t) -> 0, 'null')"),
        ("/clients", {"accept": "application/vnd.pgrst.object+json"}, "coalesce(pg_catalog.json_agg(hw_t.hw_one) filter (where hw_t.hw_one is not null) -> 0, 'null')"),
        ("/clients", {"accept": "application/vnd.pgrst.array+json;nulls=stripped"}, "coalesce(pg_catalog.json_strip_nulls(pg_catalog.json_agg(hw_t)), '[]')"),
        ("/clients", {"accept": "application/x-lines"}, '"public"."as_lines"(hw_t::"public"."clients")'),
        ("/rpc/letters", {}, "coalesce(pg_catalog.json_agg(hw_t.\"pgrst_scalar\"), '[]')"),
        ("/rpc/add?a=1", {}, "coalesce(pg_catalog.to_json(hw_t.\"pgrst_scalar\"), 'null')"),
        ("/rpc/add?a=1&limit=1", {}, "coalesce(pg_catalog.json_agg(hw_t.\"pgrst_scalar\") -> 0, 'null')"),
        ("/rpc/one_project?wanted=1", {}, "coalesce(pg_catalog.json_agg(hw_t) -> 0, 'null')"),
        ("/rpc/nothing", {}, "null::text"),
        ("/rpc/page", {"accept": "text/html"}, 'hw_t."pgrst_scalar"'),
        ("/rpc/page?limit=5", {"accept": "text/html"}, '(pg_catalog.array_agg(hw_t."pgrst_scalar"))[1]'),
    ],
)  # fmt: skip
def test_bodies(target: str, headers: dict[str, str], body: str) -> None:
    assert f'{body} as "body"' in whole(ask("GET", target, **headers))


def test_a_head_makes_no_body() -> None:
    assert 'null::text as "body"' in whole(ask("HEAD", "/clients"))


@pytest.mark.parametrize(
    ("condition", "is_calling"),
    [("name=eq.x", False), ("shout=eq.x", True), ("name=eq(col).shout", True), ("name=eq(col).id", False)],
)
def test_figures_of_the_planner_are_for_nobody_where_a_function_takes_part(
    condition: str, is_calling: bool
) -> None:
    """The planner may put its body in its place, and estimate with tables that the caller must not see."""
    plan = ask("GET", f"/projects?{condition}", prefer="count=planned").plan
    text = query_for(plan).text

    assert "rolbypassrls" in text
    assert ("hw_behind" in text) is not is_calling
