"""Where modules of a function may lie."""

import base64
import json
from pathlib import Path

import pytest

from schemas.settings.functions import FunctionSettings
from workers.functions.imports.boundary import config_faults, data_source, outside, real_roots
from workers.functions.imports.prepare import prepare_imports


@pytest.mark.parametrize(
    "address",
    ["file:///etc/passwd", "file://localhost/etc/passwd", "FILE:///etc/passwd", "file:///a/../../etc/passwd",
     "file:///%65tc/passwd", "file://host/x", "file:///x%00y"],
)  # fmt: skip
def test_files_outside_of_the_roots_are_reported(tmp_path: Path, address: str) -> None:
    assert outside(address, real_roots([tmp_path])) is not None


@pytest.mark.parametrize("address", ["https://esm.sh/x", "npm:zod@3", "node:fs", "data:text/javascript,1"])
def test_addresses_of_other_kinds_are_not_outside(tmp_path: Path, address: str) -> None:
    assert outside(address, real_roots([tmp_path])) is None


def test_links_are_resolved_on_both_sides(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "way-out").symlink_to("/etc")
    roots = real_roots([tmp_path / "root"])

    assert outside((tmp_path / "root" / "x.ts").as_uri(), roots) is None
    assert outside((tmp_path / "root" / "way-out" / "passwd").as_uri(), roots) is not None


def test_the_source_in_a_data_address_is_decoded() -> None:
    assert data_source("data:text/javascript,import%20%22x%22") == 'import "x"'
    assert data_source("DATA:text/javascript;base64," + base64.b64encode(b"1").decode()) == "1"
    assert data_source("file:///x") is None
    assert data_source("data:nothing") is None


@pytest.mark.parametrize(
    ("config", "is_fault"),
    [
        ({"workspace": ["../../.."]}, True), ({"workspace": {"members": ["./inner"]}}, False), ({"links": ["/etc"]}, True),
        ({"patch": ["file:///etc"]}, True), ({"dependencies": {"x": "file:../../../etc"}}, True),
        ({"dependencies": {"x": "^1"}, "imports": {"a": "file:///etc"}}, False), ({"workspace": 7}, False),
    ],
)  # fmt: skip
def test_configurations_that_name_outside_folders_are_faults(
    tmp_path: Path, config: object, is_fault: bool
) -> None:
    file = tmp_path / "deno.json"
    file.write_text(json.dumps(config))

    assert bool(config_faults([file], real_roots([tmp_path]))) is is_fault


def test_a_configuration_that_is_too_long_to_be_examined_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "deno.json"
    file.write_text(" " * (1024 * 1024) + '{"workspace": ["/etc"]}')

    assert config_faults([file], real_roots([tmp_path])) == [
        "deno.json is longer than 1 MiB, so it was not examined"
    ]


def test_a_function_that_imports_an_outside_file_is_rejected_with_the_path(tmp_path: Path) -> None:
    folder = tmp_path / "supabase" / "functions" / "a"
    folder.mkdir(parents=True)
    (folder / "index.ts").write_text(
        'import x from "data:text/javascript,import%20%22file:///etc/passwd%22";'
    )

    made = prepare_imports(folder, FunctionSettings(), tmp_path / "cache", roots=[folder])

    assert made.is_rejected
    assert "index.ts imports /etc/passwd" in made.failure
