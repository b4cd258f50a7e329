"""Columns of views that are never null: followed through joins, subqueries, groups and views, and never assumed."""

import pytest

from workers.project.types.read_catalog import read_database
from workers.project.types.view_columns import ViewRule, parse_tree, read_rules

_TABLES = """
create schema seen;
create table seen.a (id int primary key, t text not null, n text);
create table seen.b (id int primary key, aid int references seen.a, u text not null);
create view seen.base as select a.id, upper(a.t) as up, b.u from seen.a left join seen.b on b.aid = a.id;
"""


@pytest.mark.parametrize(
    ("query", "filled"),
    [
        ("select id, t, n from seen.a", {"id", "t"}),
        ("select a.t, b.u from seen.a join seen.b on b.aid = a.id", {"t", "u"}),
        ("select a.t, b.u from seen.a left join seen.b on b.aid = a.id", {"t"}),
        ("select a.t, b.u from seen.a right join seen.b on b.aid = a.id", {"u"}),
        ("select a.t, b.u from seen.a full join seen.b on b.aid = a.id", set()),
        ("select id, upper(t) as up, coalesce(n, '') as m from seen.a", {"id"}),
        ("select t, count(*) as c from seen.a group by t", {"t"}),
        ("select t, count(*) as c from seen.a group by rollup (t)", set()),
        ("select id from seen.a union all select id from seen.b", set()),
        ("select x.id, x.u from (select a.id, b.u from seen.a left join seen.b on true) as x", {"id"}),
        ("select x.id from seen.b left join (select id from seen.a) as x on true", set()),
        ("select id, up, u from seen.base", {"id"}),
        ("select base.id from seen.b left join seen.base on true", set()),
        ("with w as (select id, n from seen.a) select id, n from w", {"id"}),
        ("with w as (select id from seen.a) select x.id from (select id from w) as x", {"id"}),
        ("with w as (select id from seen.a) select w.id from seen.b left join w on true", set()),
        (
            "with recursive w as (select id from seen.a union select id + 1 from w where id < 3) select id from w",
            set(),
        ),
        ("select (select t from seen.a limit 1) as t", set()),
        ("select a.id from seen.a join seen.b using (id)", {"id"}),
        ("select id from seen.a full join seen.b using (id)", set()),
        ("select oid::int as o, relname from pg_catalog.pg_class", set()),
    ],
)
async def test_a_column_of_a_view_is_filled_where_its_source_is(project, query, filled):
    await project.connection.execute(f"{_TABLES} create view seen.shown as {query}")

    database = await read_database(project.connection, ["seen"])

    [view] = [relation for relation in database.relations if relation.name == "shown"]
    assert {column.name for column in view.columns if not column.is_nullable} == filled


async def test_a_comment_marks_a_column_of_a_view(project):
    await project.connection.execute(
        f"""{_TABLES} comment on column seen.base.up is E'Upper case.\\n @notNull';
        comment on column seen.base.u is 'it is not @notNull'; comment on column seen.a.n is '@notNull'"""
    )

    database = await read_database(project.connection, ["seen"])

    filled = {
        (relation.name, column.name)
        for relation in database.relations
        for column in relation.columns
        if not column.is_nullable and column.name in ("n", "u", "up")
    }
    assert filled == {("base", "up"), ("b", "u")}


@pytest.mark.parametrize(
    "tree",
    [
        "",
        "(",
        "}",
        "({QUERY",
        "({",
        '({QUERY :a "',
        "({QUERY :setOperations <> :groupingSets <> :rtable ({A :rtekind 0}) :targetList ({T :resno 1 :expr {VAR :varno :x :varlevelsup 0 :varnullingrels (b)}})})",
        "({QUERY :targetList ({TARGETENTRY :resno 1})})",
    ],
)
def test_a_tree_of_another_form_tells_nothing(tree):
    assert parse_tree(tree) is not None

    assert not read_rules([ViewRule(1, "s", "v", tree)], {}).is_filled(1, 1)
