from pathlib import Path

import pytest

from schemas.settings.functions import FunctionSettings
from workers.functions.imports.import_map import ImportMap, local_path, map_of, parse_jsonc
from workers.functions.imports.rewrites import host_of, rewritten

NONE = FunctionSettings()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "supabase" / "functions"
    (folder / "a").mkdir(parents=True)
    return folder


def test_a_package_may_be_imported_with_a_path_below_it(root: Path) -> None:
    (root / "a" / "deno.json").write_text(
        '{ // why\n "imports": { "hono": "npm:hono@4", "x": "jsr:@y/x@1/z", "near": "./near.ts", }, }'
    )

    found, warnings = map_of(root / "a", root, NONE)

    assert warnings == []
    assert found.resolve("hono", "") == "npm:hono@4"
    assert found.resolve("hono/cors", "") == "npm:/hono@4/cors"
    assert found.resolve("x/more", "") == "jsr:/@y/x@1/z/more"
    assert found.resolve("near", "") == (root / "a" / "near.ts").as_uri()
    assert found.resolve("nobody", "") is None
    assert found.resolve("./b.ts", (root / "a" / "index.ts").as_uri()) == (root / "a" / "b.ts").as_uri()


def test_the_nearest_file_applies_unless_the_settings_name_another(root: Path) -> None:
    (root / "import_map.json").write_text('{"imports": {"x": "npm:of-all"}}')
    assert map_of(root / "a", root, NONE)[0].resolve("x", "") == "npm:of-all"

    (root / "a" / "import_map.json").write_text('{"imports": {"x": "npm:own"}}')
    assert map_of(root / "a", root, NONE)[0].resolve("x", "") == "npm:own"

    (root / "named.json").write_text('{"imports": {"x": "npm:named"}}')
    named = FunctionSettings(import_map="./functions/named.json")
    assert map_of(root / "a", root, named)[0].resolve("x", "") == "npm:named"


def test_a_config_may_name_its_map_and_package_json_has_least_precedence(root: Path) -> None:
    (root / "a" / "deno.json").write_text('{"importMap": "../maps/one.json"}')
    (root / "maps").mkdir()
    (root / "maps" / "one.json").write_text('{"imports": {"zod": "npm:zod@3", "near/": "./near/"}}')
    (root / "a" / "package.json").write_text(
        '{"dependencies": {"zod": "^4", "ky": "^1.2", "other": "npm:ms@2", "local": "file:../x"}}'
    )

    found, warnings = map_of(root / "a", root, NONE)

    assert found.resolve("zod", "") == "npm:zod@3"
    assert found.resolve("ky", "") == "npm:ky@^1.2"
    assert found.resolve("other", "") == "npm:ms@2"
    assert found.resolve("near/x.ts", "") == (root / "maps" / "near" / "x.ts").as_uri()
    assert found.resolve("local", "") is None
    assert "local" in warnings[0]


def test_a_scope_has_its_own_names() -> None:
    scoped = ImportMap({"x": "npm:x@1"}, {"file:///a/": {"x": "npm:x@2"}})

    assert scoped.resolve("x", "file:///a/b.ts") == "npm:x@2"
    assert scoped.resolve("x", "file:///c/b.ts") == "npm:x@1"


def test_invalid_json_causes_a_warning(root: Path) -> None:
    (root / "a" / "deno.json").write_text("{")

    found, warnings = map_of(root / "a", root, NONE)

    assert found == ImportMap()
    assert warnings[0].startswith("deno.json is not JSON")


def test_comments_and_trailing_commas_are_skipped_except_in_strings() -> None:
    assert parse_jsonc(b'{"a": "//no", /* yes */ "b": [1, 2, ], // end\n}') == {"a": "//no", "b": [1, 2]}
    with pytest.raises(ValueError, match="JSON"):
        parse_jsonc(b"{1}")


def test_what_is_no_address_leads_nowhere(root: Path) -> None:
    (root / "a" / "deno.json").write_text('{"imports": {"x": "//[", "//[": "y"}, "scopes": {"//[": {}}}')

    found, warnings = map_of(root / "a", root, NONE)

    assert (dict(found.imports), dict(found.scopes), warnings) == ({}, {}, [])
    assert found.resolve("//[", (root / "a" / "index.ts").as_uri()) is None
    assert local_path("https://[") is None
    assert (rewritten("https://["), host_of("https://[")) == (None, None)


def test_json_that_is_nested_too_deeply_causes_a_warning(root: Path) -> None:
    (root / "a" / "deno.json").write_text('{"imports":' + "[" * 5000 + "]" * 5000 + "}")

    assert map_of(root / "a", root, NONE)[1] == ["deno.json is not JSON: it is nested too deeply"]
