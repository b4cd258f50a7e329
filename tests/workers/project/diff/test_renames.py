"""Renames in a comparison, on real databases: rows stay, and what looks like a rename is asked for."""

import pytest

from workers.project.diff.compare import compare
from workers.project.diff.renames import likely_renames, name_parts, parse_rename, rename_statement
from workers.project.diff.snapshot import read_snapshot
from workers.project.errors import ProjectRejected


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("todos=tasks", ("todos",), "tasks"),
        ("app.todos.title = heading", ("app", "todos", "title"), "heading"),
        ('"My.Table"."a ""b"""="New name"', ("My.Table", 'a "b"'), "New name"),
    ],
)
def test_a_rename_is_read(text: str, old: tuple[str, ...], new: str) -> None:
    rename = parse_rename(text)

    assert (rename.old, rename.new) == (old, new)


@pytest.mark.parametrize("text", ["todos", "=x", "a=", "a=b.c", "a.b.c.d=e", ""])
def test_what_is_no_rename_is_refused(text: str) -> None:
    with pytest.raises(ProjectRejected, match="write table=new"):
        parse_rename(text)


def test_a_quoted_name_keeps_its_dots() -> None:
    assert name_parts('public."a.b".c') == ("public", "a.b", "c")


async def test_named_renames_keep_the_rows_and_the_rest_is_compared(new_side) -> None:
    before, after = await new_side(), await new_side()
    table = 'create table public."To do" (id int primary key, title text not null, place point)'
    await before.connection.execute(f"{table}; insert into public.\"To do\" values (1, 'milk')")
    await after.connection.execute(
        "create table public.tasks (id int primary key, heading text not null, place point, done bool)"
    )
    expected = await read_snapshot(after.connection, ["public"])

    for text in ('"To do".title=heading', '"To do"=tasks', "tasks_pkey=x"):
        current = await read_snapshot(before.connection, ["public"])
        if text == "tasks_pkey=x":
            with pytest.raises(ProjectRejected, match="no table or column tasks_pkey"):
                rename_statement(parse_rename(text), current)
            break
        await before.connection.execute(rename_statement(parse_rename(text), current))
    for statement in compare(current, expected):
        await before.connection.execute(statement)

    assert await before.connection.fetch("select id, heading from public.tasks") == [(1, "milk")]
    assert compare(await read_snapshot(before.connection, ["public"]), expected) == []


async def test_what_looks_like_a_rename_is_asked_for_and_nothing_else(new_side) -> None:
    before, after = await new_side(), await new_side()
    await before.connection.execute(
        "create table public.one (id int primary key, a text, b int, c date, d date); create table public.gone (id int primary key, x uuid)"
    )
    await after.connection.execute(
        "create table public.one (id int primary key, new_a text, new_b bigint, e date, f date);"
        ' create table public."New" (id int primary key, x uuid); create table public.other (id int primary key)'
    )

    found = likely_renames(
        await read_snapshot(before.connection, ["public"]), await read_snapshot(after.connection, ["public"])
    )

    assert found == ['public.gone="New"', "public.one.a=new_a"]
