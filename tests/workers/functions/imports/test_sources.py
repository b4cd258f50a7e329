"""Which sources of a function are examined, and what is reported of the rest."""

import json
import subprocess
from pathlib import Path

import deno
import pytest

from workers.functions.imports import sources
from workers.functions.imports.import_map import ImportMap
from workers.functions.imports.sources import FunctionSources, read_sources


def _read(folder: Path, **files: str) -> FunctionSources:
    for name, text in files.items():
        (folder / f"{name}.ts").write_text(text)
    return read_sources(folder / "index.ts", folder, ImportMap())


def test_found_files_do_not_count_as_examined_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_SOURCES", 3)
    (tmp_path / "assets").mkdir()
    for number in range(5):
        (tmp_path / "assets" / f"{number}.ts").write_text("")

    result = _read(tmp_path, index='import "./a.ts"; await import(name);', a='import "npm:ms@2";')

    assert result.addresses == {"npm:ms@2"}
    assert result.unexamined == ("it has more than 3 sources; the rest was not examined",)


def test_an_import_behind_the_first_mebibyte_is_followed(tmp_path: Path) -> None:
    start = "x" * (1024 * 1024)

    result = _read(tmp_path, index=f'{start}\nimport "npm:ms@2";')

    assert (result.addresses, result.unexamined) == ({"npm:ms@2"}, ())
    assert _read(tmp_path, index=f'{start}\nimport "npm:ms@2"; 1').digest != result.digest


@pytest.mark.parametrize(
    ("limit", "reported"),
    [
        ("LONGEST_SOURCE", "index.ts is too long; only its first 19 bytes were examined"),
        ("MOST_BYTES", "its sources have more than 0 MiB; the rest was not examined"),
    ],
)
def test_what_is_too_long_to_be_examined_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, reported: str
) -> None:
    monkeypatch.setattr(sources, limit, len('import "./a.ts"; 1;'))

    result = _read(tmp_path, index='import "./a.ts"; 1;' + " 2;" * (limit == "LONGEST_SOURCE"), a="")

    assert result.unexamined == (reported,)


def test_the_modules_of_node_are_those_that_the_runtime_provides() -> None:
    script = 'console.log(JSON.stringify((await import("node:module")).builtinModules))'

    result = subprocess.run(
        [deno.find_deno_bin(), "eval", "--no-config", script], capture_output=True, check=True, timeout=60
    )

    provided = json.loads(result.stdout)
    assert {name for name in provided if not name.startswith("node:")} == sources.NODE_MODULES
