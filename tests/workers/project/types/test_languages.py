"""Zod and Dart. Zod's file is compiled; Dart's is read by the parser of Dart's own formatter: no registry that the tests reach has its SDK."""

import os
import shutil
import subprocess
from pathlib import Path

import deno
import pytest

from tests.node_packages import install_packages
from workers.project.types import name_order
from workers.project.types.class_names import class_names
from workers.project.types.dart import dart
from workers.project.types.model import (
    TypegenArgument,
    TypegenDatabase,
    TypegenFunction,
    TypegenRelation,
    TypegenType,
)
from workers.project.types.typescript import typescript
from workers.project.types.zod import zod

CLIENTS = Path(__file__).parents[3] / "conformance"
_USE = """
import { PublicAddArgs, PublicAuthorsRow, PublicMood, PublicPostsInsert, PublicPostsUpdate } from "./schemas"
const insert: PublicPostsInsert = PublicPostsInsert.parse({ author: "a", title: "t", price: null })
const update: PublicPostsUpdate = {}
const mood: PublicMood = "sad"
const place: { x: number | null } | null = PublicAuthorsRow.parse({}).place
const args: PublicAddArgs = { a: 1 }
// @ts-expect-error: a title must be given
const without: PublicPostsInsert = { author: "a" }
// @ts-expect-error: made by the database
insert.words
// @ts-expect-error: no label of the enum
const other: PublicMood = "glad"
export { update, mood, place, args, without, other }
"""

_READ_DART = """
import { readFileSync } from "node:fs"
import process from "node:process"
import { format } from "./node_modules/@wasm-fmt/dart_fmt/dart_fmt_node.js"
format(readFileSync(process.argv[2], "utf8"))
"""  # Deno, not Node 20, whose WebAssembly lacks garbage collection


@pytest.fixture(scope="module")
def packages() -> Path:
    if shutil.which("node") is None:
        pytest.skip("there is no Node.js")
    install_packages(CLIENTS)
    return CLIENTS / "node_modules"


async def test_zods_types_are_those_of_rows_and_writes(
    described: TypegenDatabase, packages: Path, tmp_path: Path
) -> None:
    (tmp_path / "schemas.ts").write_text(zod(described))
    (tmp_path / "use.ts").write_text(_USE)
    os.symlink(packages, tmp_path / "node_modules")

    done = subprocess.run(
        [packages / ".bin" / "tsc", "--strict", "--noEmit", "--skipLibCheck", "--target", "es2022", "--module", "esnext",
         "--moduleResolution", "bundler", "use.ts"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.stdout == ""


async def test_darts_classes_say_what_is_needed(described: TypegenDatabase) -> None:
    text = dart(described)

    assert "class PublicPostsInsert {\n  const PublicPostsInsert({required this.author, this.body, " in text
    assert "  final List<PublicMood?>? moods;" in text
    assert "  factory PublicMood.fromJson(String label)" in text
    assert "  veryHappy('very \"happy\"');" in text
    assert "if (mood != null) 'mood': mood!.toJson()," in text
    assert "class PublicTitlesInsert" not in text


async def test_darts_own_parser_reads_the_file(
    described: TypegenDatabase, packages: Path, tmp_path: Path
) -> None:
    (tmp_path / "types.dart").write_text(dart(described))
    (tmp_path / "faulty.dart").write_text(dart(described).replace("class PublicPostsInsert {", "class {", 1))
    (tmp_path / "read.mjs").write_text(_READ_DART)
    os.symlink(packages, tmp_path / "node_modules")

    outcomes = [
        subprocess.run(
            [deno.find_deno_bin(), "run", "--allow-read", "--node-modules-dir=manual", "read.mjs", file],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )
        for file in ("types.dart", "faulty.dart")
    ]  # fmt: skip

    assert outcomes[0].returncode == 0, outcomes[0].stderr
    assert outcomes[1].returncode == 1
    assert "could not be parsed" in outcomes[1].stderr


def test_no_two_classes_have_one_name() -> None:
    relations = [TypegenRelation("public", name, "r", []) for name in ("a_b", "aB", "a b", "1")]

    names = class_names(TypegenDatabase(["public"], relations, [], {}))

    assert sorted(names.values()) == ["Public1", "PublicAB", "PublicAB2", "PublicAB3"]


def test_the_work_on_names_grows_with_relations_and_functions_not_with_their_product(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    sort_key = name_order.sort_key
    monkeypatch.setattr(name_order, "sort_key", lambda name: made.append(name) or sort_key(name))
    relations = [TypegenRelation("public", f"t{number}", "r", []) for number in range(100)]
    types = {
        number: TypegenType(number, "public", f"t{number}", "c", relation_kind="r") for number in range(100)
    }
    functions = [
        TypegenFunction("public", f"f{number}", [TypegenArgument("", number % 100)], 0, returns_set=False)
        for number in range(200)
    ]

    text = typescript(TypegenDatabase(["public"], relations, functions, types))

    assert text.count('ComputedFields: "f') == 100
    assert len(made) < 20 * (len(relations) + len(functions))
