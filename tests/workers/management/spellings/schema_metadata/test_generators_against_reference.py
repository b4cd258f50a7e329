"""Generated types, letter by letter as the reference writes them (Go, Swift, Python)."""

import difflib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.workers.management.spellings.schema_metadata.conftest import Ours
from tests.workers.management.spellings.schema_metadata.reference import Reference

pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]


@pytest.mark.parametrize("language", ["go", "swift", "python"])
@pytest.mark.parametrize(
    "query",
    ["", "?included_schemas=shop", "?included_schemas=public, shop", "?excluded_schemas=auth,storage"],
)
async def test_generated_types_are_those_of_the_reference(
    ours: Ours, theirs: Reference, language: str, query: str
) -> None:
    text = await ours.good("GET", f"/generators/{language}{query}")
    status, expected = await theirs.send("GET", f"/generators/{language}{query}")

    assert status == 200
    found = [*difflib.unified_diff(expected.splitlines(), text.splitlines(), lineterm="", n=0)]
    assert not found, "\n".join(found[:30])


@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not on this machine")
async def test_go_takes_the_types(ours: Ours, tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module types\n\ngo 1.18\n")
    (tmp_path / "types.go").write_text(await ours.good("GET", "/generators/go?included_schemas=shop"))
    home = {"GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
    done = subprocess.run(
        ["go", "vet", "./..."],
        cwd=tmp_path,
        env={**os.environ, **home},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


async def test_access_of_swift(ours: Ours, theirs: Reference) -> None:
    path = "/generators/swift?included_schemas=shop&access_control=public"

    assert await ours.good("GET", path) == (await theirs.send("GET", path))[1]
    assert (await ours.send("GET", "/generators/swift?access_control=x {"))[0] == 400


@pytest.mark.parametrize(
    "options", ["", "&detect_one_to_one_relationships=true", "&detect_one_to_one_relationships=false"]
)
async def test_typescript_has_the_tables_of_the_reference(
    ours: Ours, theirs: Reference, options: str
) -> None:
    """Ours is that of `headwater gen types`: it says more of functions, and its helper types are others."""
    path = f"/generators/typescript?included_schemas=auth,storage,realtime{options}"
    status, expected = await theirs.send("GET", path)
    text = await ours.good("GET", path)

    assert status == 200
    assert tables_of(text) == tables_of(expected)


async def test_typescript_names_the_version_of_postgrest(ours: Ours, theirs: Reference) -> None:
    path, start = (
        "/generators/typescript?included_schemas=storage&postgrest_version=",
        "export type Database = {",
    )
    text, (_, expected) = await ours.good("GET", f"{path}14.1"), await theirs.send("GET", f"{path}14.1")
    quoted = await ours.good("GET", f"{path}14%22%0Ax")

    head, expected_head = (value.partition(start)[2].splitlines()[:6] for value in (text, expected))
    assert head == expected_head
    assert 'PostgrestVersion: "14\\"\\nx"' in quoted


def tables_of(text: str) -> str:
    """Return the text of tables, views, enums and composite types, on one line: long lines are broken by one of the two."""
    lines, is_inside = [], False
    for line in text.splitlines():
        if line.startswith("    ") and not line.startswith("     "):
            is_inside = line.strip() in ("Tables: {", "Views: {", "Enums: {", "CompositeTypes: {")
        if is_inside:
            lines.append(line.strip())
    return " ".join(lines).replace(": | ", ": ")
