import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.node_packages import install_packages
from workers.project.errors import ProjectRejected
from workers.project.types.read_catalog import read_database
from workers.project.types.typescript import typescript

HERE = Path(__file__).parent
CLIENTS = Path(__file__).parents[3] / "conformance"


@pytest.fixture(scope="module")
def compiler():
    """The pinned TypeScript compiler, installed where it is missing."""
    install_packages(CLIENTS)
    return CLIENTS / "node_modules" / ".bin" / "tsc"


def part(text, *path):
    """Give the lines of a part of a file, by the names on the way to it."""
    lines = text.splitlines()
    for name in path:
        at = next(place for place, line in enumerate(lines) if line.strip().startswith(f"{name}:"))
        depth = len(lines[at]) - len(lines[at].lstrip())
        end = next(
            (
                place
                for place in range(at + 1, len(lines))
                if len(lines[place]) - len(lines[place].lstrip()) <= depth
            ),
            len(lines),
        )
        lines = lines[at : end + 1]
    return [line.strip() for line in lines]


async def test_the_clients_take_the_types(described, compiler, tmp_path):
    if shutil.which("node") is None:
        pytest.skip("there is no Node.js")
    (tmp_path / "database.ts").write_text(typescript(described))
    shutil.copy(HERE / "use.ts", tmp_path)
    os.symlink(CLIENTS / "node_modules", tmp_path / "node_modules")

    done = subprocess.run(
        [compiler, "--strict", "--noEmit", "--skipLibCheck", "--target", "es2022", "--module", "esnext",
         "--moduleResolution", "bundler", "use.ts"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.stdout == ""
    assert done.returncode == 0


async def test_what_must_be_given_is_without_a_question_mark(described):
    insert = part(typescript(described), "public", "Tables", "posts", "Insert")

    assert insert == [
        "Insert: {", "author: string", "body?: string | null", "boss?: number | null", "id?: never",
        "price?: number | null", "serial_no?: number", "title: string", "words?: never", "}",
    ]  # fmt: skip


async def test_rows_have_computed_fields_and_relationships_their_keys(described):
    posts = part(typescript(described), "public", "Tables", "posts")
    profiles = part(typescript(described), "public", "Tables", "profiles", "Relationships")

    assert "full_title: string | null" in posts
    assert posts.count('foreignKeyName: "posts_author_fkey"') == 1
    assert "isOneToOne: true" in profiles


async def test_functions_show_arguments_results_and_overloads(described):
    functions = part(typescript(described), "public", "Functions")

    assert "add: { Args: { a: number; b?: number }; Returns: number }" in functions
    assert "| { Args: { a?: number }; Returns: number }" in functions
    assert "nothing: { Args: Record<PropertyKey, never>; Returns: undefined }" in functions
    assert 'raw: { Args: { "": Json }; Returns: Json }' in functions
    assert not any(line.startswith("hidden") for line in functions)


async def test_overloads_that_arguments_cannot_tell_apart_are_errors(described):
    both = part(typescript(described), "public", "Functions", "both")

    assert both.count("error: true") == 2
    assert "between: public.both(a => int4), public.both(a => text)" in both[5]


async def test_what_takes_a_row_cannot_be_called_and_is_a_column_of_it(described):
    text = typescript(described)

    assert part(text, "public", "Functions", "full_title")[1:4] == [
        "Args: { \"\": Database[\"public\"][\"Tables\"][\"posts\"][\"Row\"] }", "Returns: {", "error: true",
    ]  # fmt: skip
    assert "author_posts: {" in part(text, "public", "Tables", "authors", "Row")


async def test_rows_of_a_function_say_where_they_come_from(described):
    functions = ("public", "Functions")
    text = typescript(described)

    assert part(text, *functions, "author_posts", "SetofOptions") == [
        "SetofOptions: {", 'from: "authors"', 'to: "posts"', "isOneToOne: false", "isSetofReturn: true", "}",
    ]  # fmt: skip
    assert part(text, *functions, "full_author", "SetofOptions")[3:5] == [
        "isOneToOne: true",
        "isSetofReturn: true",
    ]
    assert part(text, *functions, "addrs", "SetofOptions")[2] == 'to: "address"'
    assert part(text, *functions, "pairs")[-2:] == ["}[]", "}"]
    assert not any(line.startswith("unnamed:") for line in part(text, *functions))


async def test_names_stand_in_the_order_of_a_dictionary(described):
    tables = part(typescript(described), "public", "Tables")
    names = [
        line
        for line in tables
        if line in ('"Odd Table": {', "members: {", "parted: {", "parted_1: {", "posts: {")
    ]
    odd = part(typescript(described), "public", "Tables", '"Odd Table"', "Row")

    assert names == ["members: {", '"Odd Table": {', "parted: {", "parted_1: {", "posts: {"]
    assert odd[1:3] == ["bits: unknown", "Camel: string | null"]


async def test_composite_types_keep_the_order_of_their_attributes(described):
    address = part(typescript(described), "public", "CompositeTypes", "address")

    assert address == [
        "address: {", "street: string | null", "zip: number | null",
        'mood: Database["public"]["Enums"]["mood"] | null', "}",
    ]  # fmt: skip


async def test_labels_are_quoted_with_the_fewest_escapes(described):
    assert 'mood: "sad" | "ok" | \'very "happy"\'' in part(typescript(described), "public", "Enums")


async def test_a_schema_without_anything_is_whole(project):
    await project.connection.execute("create schema bare")

    text = typescript(await read_database(project.connection, ["bare"]))

    assert part(text, "bare", "Tables") == ["Tables: {", "[_ in never]: never", "}"]


async def test_a_schema_that_is_not_there_is_refused(project):
    with pytest.raises(ProjectRejected, match="no schema nowhere"):
        await read_database(project.connection, ["public", "nowhere"])
