"""Imports of functions, with the real npm registry."""

import json
import subprocess
from pathlib import Path

import deno
import pytest

from schemas.settings.functions import FunctionSettings
from workers.functions.imports.prepare import PreparedImports, prepare_imports
from workers.functions.imports.reachable_hosts import ReachableHosts

NONE = FunctionSettings()


class Net:
    """Hosts that are reported as reachable."""

    def __init__(self, *up: str) -> None:
        self.up, self.asked = up, list[str]()

    def __call__(self, host: str) -> bool:
        self.asked.append(host)
        return host in self.up


class ImportFolder:
    def __init__(self, folder: Path, net: Net) -> None:
        self.root, self.cache, self.net = folder / "supabase" / "functions", folder / "cache", net
        self.cache.mkdir()

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def prepare(
        self, name: str = "a", *, settings: FunctionSettings = NONE, offline: bool = False
    ) -> PreparedImports:
        reach = ReachableHosts(self.cache / "hosts.json", self.net)
        return prepare_imports(self.root / name, settings, self.cache, offline=offline, reach=reach)

    def import_map(self, made: PreparedImports) -> dict[str, str]:
        assert made.import_map_path is not None
        found: dict[str, str] = json.loads(made.import_map_path.read_bytes())["imports"]
        return found

    def run(self, made: PreparedImports, name: str = "a") -> str:
        """Run it as a script, with nothing but what is cached."""
        done = subprocess.run(
            [
                deno.find_deno_bin(), "run", "--quiet", "--no-prompt", "--cached-only", "--no-lock", "--no-config", "--allow-env",
                f"--import-map={made.import_map_path}", str(self.root / name / "index.ts"),
            ],
            env={"DENO_DIR": str(self.cache), "NO_COLOR": "1"}, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture
def imports(tmp_path: Path) -> ImportFolder:
    return ImportFolder(tmp_path, Net())


def test_a_function_without_external_imports_starts_no_process(imports: ImportFolder) -> None:
    imports.write("_shared/b.ts", "export const b = 1;")
    imports.write("a/index.ts", 'import { b } from "../_shared/b.ts"; import "node:fs"; Deno.serve(() => b);')

    made = imports.prepare()

    assert made == PreparedImports(is_cached=True)
    assert imports.net.asked == []
    assert not (imports.cache / "headwater" / "fetched").exists()


def test_modules_of_all_kinds_run_with_npm_alone(imports: ImportFolder) -> None:
    imports.write(
        "_shared/base.ts", 'export { encode } from "https://deno.land/std@0.177.0/encoding/base64.ts";'
    )
    imports.write(
        "a/deno.json",
        '{"imports": {"hono": "npm:hono@4", "@std/encoding": "jsr:@std/encoding@1", "zod/": "https://esm.sh/zod@3/"}}',
    )
    imports.write(
        "a/index.ts",
        """
        import "jsr:@supabase/functions-js/edge-runtime.d.ts";
        import { createClient } from "https://esm.sh/@supabase/supabase-js@2?target=deno";
        import { Hono } from "hono";
        import { cors } from "hono/cors";
        import { encodeHex } from "@std/encoding/hex";
        import { z } from "https://esm.sh/zod@3";
        import type { Nothing } from "https://nowhere.example/types.ts";
        import { encode } from "../_shared/base.ts";
        const { default: ms } = await import("https://unpkg.com/ms@2");
        console.log(typeof createClient, typeof Hono, typeof cors, encodeHex("a"), typeof z.string, encode("hi"), ms("2m"));
        """,
    )

    made = imports.prepare()

    assert (made.warnings, made.failure, made.is_cached) == ((), "", True)
    assert imports.run(made) == "function function function 61 function aGk= 120000"
    assert sorted(imports.net.asked) == sorted({"esm.sh", "deno.land", "unpkg.com", *imports.net.asked})


def test_a_second_preparation_fetches_nothing(imports: ImportFolder) -> None:
    imports.write("a/index.ts", 'import ms from "npm:ms@2"; console.log(ms("1m"));')
    first = imports.prepare()
    marks = list((imports.cache / "headwater" / "fetched").iterdir())

    second = imports.prepare()

    assert first == second
    assert list((imports.cache / "headwater" / "fetched").iterdir()) == marks
    assert imports.net.asked == []


def test_addresses_on_reachable_hosts_are_not_rewritten(imports: ImportFolder) -> None:
    imports.net.up = ("esm.sh",)
    imports.write(
        "a/index.ts",
        'import "https://esm.sh/ms@2"; import { serve } from "https://deno.land/std/http/server.ts";',
    )

    made = imports.prepare()

    assert imports.net.asked == ["esm.sh"]
    assert made.failure == ""  # it answered, and gave nothing: rewritten after all
    assert imports.import_map(made)["https://esm.sh/ms@2"] == "npm:ms@2"
    assert imports.import_map(made)["https://deno.land/std/http/server.ts"].endswith("http_server.ts")


def test_offline_contacts_no_host(imports: ImportFolder) -> None:
    imports.net.up = ("esm.sh",)
    imports.write("a/index.ts", 'import "https://esm.sh/ms@2";')

    made = imports.prepare(offline=True)

    assert imports.net.asked == []
    assert imports.import_map(made) == {"https://esm.sh/ms@2": "npm:ms@2"}


def test_modules_that_cannot_be_loaded_cause_warnings(imports: ImportFolder) -> None:
    imports.write("a/index.ts", 'import "https://nowhere.example/x.ts"; import "bare"; import "npm:ms@2";')

    made = imports.prepare()

    assert any("https://nowhere.example/x.ts" in each for each in made.warnings)
    assert any("'bare'" in each for each in made.warnings)
    assert not made.is_cached


def test_a_module_that_is_not_there_is_a_failure(imports: ImportFolder) -> None:
    imports.write("a/index.ts", 'import "./missing.ts";')

    assert "missing.ts" in imports.prepare().failure


def test_a_package_that_is_not_there_is_a_failure(imports: ImportFolder) -> None:
    imports.write("a/index.ts", 'import "npm:ms@99999";')

    made = imports.prepare()

    assert "ms" in made.failure
    assert not made.is_cached


def test_a_computed_import_includes_all_sources(imports: ImportFolder) -> None:
    imports.write("a/index.ts", "const one = `./${Deno.args[0]}.ts`; await import(one);")
    imports.write("a/plugin.ts", 'import ms from "https://esm.sh/ms@2";')

    assert imports.import_map(imports.prepare())["https://esm.sh/ms@2"] == "npm:ms@2"


SHIMS = {
    "encoding/base64.ts": ('m.encode("hé") + m.decode("aGk=").length + m.encodeBase64(new Uint8Array([1]))', "aMOp2AQ=="),
    "encoding/base64url.ts": ('m.encodeBase64Url("??>") + m.decode("Pz8-").length', "Pz8-3"),
    "encoding/hex.ts": ('m.encodeHex("hi") + m.decodeHex("6869")[1]', "6869105"),
    "crypto/mod.ts": ('m.crypto.randomUUID().length + (await m.crypto.subtle.digest("MD5", new TextEncoder().encode("a"))).byteLength', "52"),
    "crypto/timing_safe_equal.ts": ("[m.timingSafeEqual(new Uint8Array([1]), new Uint8Array([1])), m.timingSafeEqual(new Uint8Array([1]), new Uint8Array([2, 3]))].join()", "true,false"),
    "async/delay.ts": ("await m.delay(1) === undefined", "true"),
    "async/mod.ts": ("await m.deadline(new Promise(() => {}), 5).catch((e) => e.name)", "TimeoutError"),
    "uuid/mod.ts": ('[m.v4.validate(m.v4.generate()), m.v1.validate(m.v1.generate()), await m.v5.generate(m.NAMESPACE_DNS, new TextEncoder().encode("python.org"))].join()', "true,true,886313e1-3b8a-5372-9b90-0c9aee199e5d"),
    "path/mod.ts": ('m.join("a", "..", "b") + m.fromFileUrl("file:///c")', "b/c"),
    "assert/mod.ts": ('(m.assertEquals({ a: [1] }, { a: [1] }), m.assertThrows(() => m.assert(false, "no"), m.AssertionError).message)', "no"),
    "http/cookie.ts": ('(() => { const h = new Headers({ cookie: "a=1; b=x=y" }); m.setCookie(h, { name: "c", value: "d", httpOnly: true }); return m.getCookies(h).b + h.get("set-cookie"); })()', "x=yc=d; HttpOnly"),
    "http/http_status.ts": ("m.Status.NotFound + m.STATUS_TEXT[418] + m.STATUS_CODE.OK", "404I'm a teapot200"),
    "yaml/mod.ts": ('m.parse("a: [1, 2]").a[1] + m.stringify({ b: 1 }).trim()', "2b: 1"),
    "flags/mod.ts": ('m.parse(["--port=3", "x"]).port + m.parse(["x"])._[0]', "3x"),
    "media_types/mod.ts": ('m.contentType(".html") + m.typeByExtension("png")', "text/html; charset=utf-8image/png"),
    "dotenv/mod.ts": ('JSON.stringify(m.parse("A=1\\nexport B=\\"x\\\\ny\\" # c\\nC=$A$A"))', '{"A":"1","B":"x\\ny","C":"11"}'),
    "bytes/mod.ts": ("m.concat(new Uint8Array([1]), new Uint8Array([2, 3])).length", "3"),
    "log/mod.ts": ('(m.getLogger().debug("unseen"), m.getLogger("x").levelName)', "INFO"),
}  # fmt: skip


def test_replacements_of_standard_library_modules_behave_alike(imports: ImportFolder) -> None:
    lines = [
        f'{{ const m: any = await import("https://deno.land/std@0.200.0/{path}"); console.log(String({code})); }}'
        for path, (code, _) in SHIMS.items()
    ]
    imports.write("a/index.ts", "\n".join(lines))

    made = imports.prepare()

    assert (made.warnings, made.failure) == ((), "")
    assert imports.run(made).splitlines() == [expected for _, expected in SHIMS.values()]
