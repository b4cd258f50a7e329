"""What a text would destroy, by its words."""

import pytest

from workers.management.areas.sql.run import controls_transaction
from workers.management.areas.sql.warnings import warnings_of
from workers.project.sql_splitter import split


@pytest.mark.parametrize(
    ("sql", "kinds", "names"),
    [
        ("select 1", [], []),
        ("drop table a, b.c cascade", ["drop"], [("a",), ("b", "c")]),
        ('drop table if exists "A ""b".c', ["drop"], [('A "b', "c")]),
        ("drop function f(int, text), g()", ["drop"], [("f",), ("g",)]),
        ("/* x */ DROP MATERIALIZED VIEW Mine", ["drop"], [("mine",)]),
        ("truncate only a, b restart identity", ["truncate"], [("a",), ("b",)]),
        ("delete from a", ["delete_without_where"], [("a",)]),
        ("delete from a where true", [], []),
        ("delete from a using b where a.id = b.id", [], []),
        ("update only a.b as x set n = 1", ["update_without_where"], [("a", "b")]),
        ("update a set n = (select 1 from b where b.id = 1)", ["update_without_where"], [("a",)]),
        ("update a set n = 1 where id = 2", [], []),
        (
            "with d as (delete from a returning *) select * from d where true",
            ["delete_without_where"],
            [("a",)],
        ),
        ("with d as (delete from a where id = 1 returning *) select 1", [], []),
        ("select 1 for update", [], []),
        ("insert into a values (1) on conflict (id) do update set n = 1", [], []),
        ("alter table a drop column n", ["drop_column"], [("a",)]),
        ("alter table a drop n", ["drop_column"], [("a",)]),
        ("alter table a drop constraint n", [], []),
        ("alter table a alter column n drop not null", [], []),
        ("alter table if exists only a.b alter n type text", ["alter_type"], [("a", "b")]),
        ("alter table a alter n set data type text using n::text", ["alter_type"], [("a",)]),
        ("alter table a disable row level security", ["disable_row_security"], [("a",)]),
        ("grant all on a to anon", ["grant_to_anon"], []),
        ("grant all on a to authenticated", [], []),
        ("create index on a (n)", ["locks_table"], []),
        ("create index concurrently on a (n)", [], []),
        ("vacuum full a", ["locks_table"], []),
        ("create function f() returns int begin atomic delete from a; select 1; end", [], []),
    ],
)
def test_warnings(sql: str, kinds: list[str], names: list[tuple[str, ...]]) -> None:
    warnings = warnings_of(split(sql))

    assert [warning.kind for warning in warnings] == kinds
    assert [name for warning in warnings for name in warning.names] == names


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("begin", True),
        ("START TRANSACTION read only", True),
        ("commit and chain", True),
        ("end", True),
        ("abort", True),
        ("rollback", True),
        ("rollback work", True),
        ("rollback to s", False),
        ("rollback transaction to savepoint s", False),
        ("rollback prepared 'x'", True),
        ("prepare transaction 'x'", True),
        ("prepare p as select 1", False),
        ("savepoint s", False),
        ("select 'begin'", False),
    ],
)
def test_statements_that_begin_or_end_a_transaction(sql: str, expected: bool) -> None:
    [script] = split(sql)

    assert controls_transaction(script) is expected
