import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.mutate import near_text
from workers.functions.imports.specifiers import Import, ImportKind, imports_of

CASES = [
    ('import "a"', ["a"]),
    ("import x from 'b';import{y as z}from\"c\"", ["b", "c"]),
    ('import * as all from "d"\nimport one, { two } from "e" with { type: "json" }', ["d", "e"]),
    ('export * from "f"; export * as g from "g"; export { h } from "h"', ["f", "g", "h"]),
    ('export const from = "i"; export default "j"; export function k() { return "l" }', []),
    ('const m = await import("m"); import(`n`)', ["m", "n"]),
    ('// import "o"\n/* import "p" */ const q = "import \\"r\\""', []),
    ('const s = `import "t" ${await import("u")} import "v"`', ["u"]),
    ("const w = `${`${a}`}`; import 'x'", ["x"]),
    ('const y = /import "z"/.test("/"); import "aa"', ["aa"]),
    ("const bb = 4 / 2; import 'cc'; const dd = 1 / 3", ["cc"]),
    ('import type from "ee"', ["ee"]),
    ('import.meta.url; object.import("ff"); const gg = { import: "hh" }', []),
    ('import ii = require("jj")', ["jj"]),
    ('#!/usr/bin/env deno\nimport "kk"', ["kk"]),
    ('import { "string name" as ll } from "mm"', ["mm"]),
    ("const it's = 1\nimport 'nn'", ["nn"]),
    ('import "\\u006fo"', ["oo"]),
]


@pytest.mark.parametrize(("source", "expected"), CASES)
def test_only_imports_are_found(source: str, expected: list[str]) -> None:
    assert [each.specifier for each in imports_of(source).imports] == expected


def test_type_only_imports_are_marked() -> None:
    source = 'import type { A } from "a"; export type { B } from "b"; import type C from "c"; import { type D } from "d"'

    assert imports_of(source).imports == (
        Import("a", ImportKind.TYPE), Import("b", ImportKind.TYPE), Import("c", ImportKind.TYPE), Import("d"),
    )  # fmt: skip


def test_a_computed_import_is_reported() -> None:
    assert imports_of("await import(name)").is_open
    assert imports_of("await import(`./${name}.ts`)").is_open
    assert not imports_of('await import("./a.ts", { with: { type: "json" } })').is_open


@given(
    near_text(
        [source for source, _ in CASES],
        ["`", "'", '"', "/", "/*", "*/", "//", "${", "}", "\\", "import", "from", "(", "\n"],
    )
)
@settings(max_examples=300)
def test_any_text_is_read_to_its_end(text: str) -> None:
    found = imports_of(text)

    assert all(isinstance(each.specifier, str) for each in found.imports)


@given(st.text(alphabet="`'\"/\\${}()import fromexport\n*, "))
def test_any_mix_of_signs_is_read_to_its_end(text: str) -> None:
    imports_of(text)


@given(st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: not set(text) & set('"\\\n')))
def test_any_specifier_is_returned_unchanged(name: str) -> None:
    assert imports_of(f'import "{name}"').imports == (Import(name),)
