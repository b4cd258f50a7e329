"""Hosted functions that read what is not theirs: the platform's passwords, the database's files, other functions."""

import json
import os
import stat
import tarfile

import pytest

from tests.attacks.hosting import Hosting
from tests.workers.functions.bundling import archive

UNSTABLE = json.dumps({"unstable": ["raw-imports", "kv", "worker-options", "ffi", "fs"]})
SERVE = "Deno.serve(() => Response.json(got));"


def wasm_importing(specifier: str) -> bytes:
    """Return a WebAssembly module that imports a function of another module: its specifier is data of the binary."""
    name = specifier.encode()

    def number(value: int) -> bytes:
        low, rest = value & 0x7F, value >> 7
        return bytes([low | 0x80]) + number(rest) if rest else bytes([low])

    types = b"\x01\x60\x00\x00"
    imported = b"\x01" + number(len(name)) + name + b"\x01f\x00\x00"
    sections = b"".join(
        bytes([kind]) + number(len(body)) + body for kind, body in ((1, types), (2, imported))
    )
    return b"\0asm\x01\0\0\0" + sections


def spellings(path: str) -> dict[str, dict[str, str]]:
    """Return functions that import a file in each way a source can name one, by a name for it."""
    url, text = f"file://{path}", "{ with: { type: 'text' } }"
    inner = f"export {{ default }} from {json.dumps(url)} with {{ type: 'text' }};"
    up = "../" * 30 + path[1:]
    return {
        "static": {"index.ts": f"import got from {json.dumps(url)} with {{ type: 'text' }}; {SERVE}"},
        "static-bytes": {"index.ts": f"import got from {json.dumps(url)} with {{ type: 'bytes' }}; {SERVE}"},
        "dynamic": {"index.ts": f"const got = (await import({json.dumps(url)}, {text})).default; {SERVE}"},
        "template": {"index.ts": f"const got = (await import(`{url}`, {text})).default; {SERVE}"},
        "escaped": {"index.ts": f'const got = (await import("f\\u0069le:{path}", {text})).default; {SERVE}'},
        "host": {
            "index.ts": f'const got = (await import("file://localhost{path}", {text})).default; {SERVE}'
        },
        "absolute": {"index.ts": f"const got = (await import({json.dumps(path)}, {text})).default; {SERVE}"},
        "relative": {"index.ts": f"const got = (await import({json.dumps(up)}, {text})).default; {SERVE}"},
        "helper": {"index.ts": f"import got from './lib.mjs'; {SERVE}", "lib.mjs": inner},
        "data": {"index.ts": f"import got from {json.dumps('data:text/javascript,' + inner)}; {SERVE}"},
        "map": {
            "index.ts": f"import got from 'secret' with {{ type: 'text' }}; {SERVE}",
            "deno.json": json.dumps({"unstable": ["raw-imports"], "imports": {"secret": url}}),
        },
        "scope": {
            "index.ts": f"import got from 'secret' with {{ type: 'text' }}; {SERVE}",
            "deno.json": json.dumps({"unstable": ["raw-imports"], "scopes": {"./": {"secret": url}}}),
        },
        "workspace": {
            "index.ts": f"const got = 1; {SERVE}",
            "deno.json": json.dumps({"workspace": ["../../../../../../../../etc"]}),
        },
        "links": {"index.ts": f"const got = 1; {SERVE}", "deno.json": json.dumps({"links": ["/etc"]})},
        "package": {
            "index.ts": f"import got from 'secret'; {SERVE}",
            "package.json": json.dumps({"dependencies": {"secret": f"file:{os.path.dirname(path)}"}}),
        },
    }


def test_a_deployment_that_imports_a_file_elsewhere_is_refused_with_clear_words(hosting: Hosting) -> None:
    path = str(hosting.data / "passwords.json")
    for name, files in spellings(path).items():
        status, told = hosting.deploy(f"file-{name}", {"deno.json": UNSTABLE, **files})

        assert (name, status) == (name, 422), told
        assert "function" in told
        assert "outside of the function's folders" in told or "may not read" in told, (name, told)
        assert hosting.call(f"file-{name}")[0] == 404


def test_what_the_check_does_not_see_is_held_by_the_kernel(hosting: Hosting) -> None:
    secrets = hosting.secrets()
    path = str(hosting.data / "passwords.json")
    folder, name = os.path.split(path)
    hidden = {
        "wasm": {"index.ts": b"import * as m from './m.wasm'; Deno.serve(() => Response.json(Object.keys(m)));",
                 "m.wasm": wasm_importing(f"file://{path}")},
        "computed": {"index.ts": f"""const file = {json.dumps(name)}.slice(0); let got = "";
          try {{ got = (await import(`file://{folder}/${{file}}`, {{ with: {{ type: "text" }} }})).default }} catch (e) {{ got = String(e) }}
          {SERVE}""".encode()},
        "pragma": {"index.tsx": f"/** @jsxImportSource file://{folder} */\nconst got = <a/>; {SERVE}".encode()},
    }  # fmt: skip
    outcomes = {
        "wasm": (422, "Permission denied (os error 13)"),
        "computed": (200, "Requires read access"),
        "pragma": (422, "outside of the function's folders"),
    }
    for kind, files in hidden.items():
        status, told = hosting.deploy_bytes(f"hidden-{kind}", {"deno.json": UNSTABLE.encode(), **files})
        answer = hosting.call(f"hidden-{kind}")[1] if status == 200 else ""
        expected, words = outcomes[kind]
        assert (kind, status) == (kind, expected), told
        assert words in told + answer, (kind, told, answer)

        for secret in secrets.values():
            assert secret.decode(errors="replace")[:24] not in told + answer, kind


REFUSALS = ("Requires read access", "Deno.symlink() requires unscoped", "Web Workers are not available here")
"""The words of each refusal: another error, such as one of syntax, would prove nothing."""
READS = """Deno.serve(async (req) => {
  const { paths } = await req.json(); const got: Record<string, string> = {}; const refused: Record<string, string> = {}; const { createRequire } = await import("node:module");
  const fs = await import("node:fs"); const require = createRequire(import.meta.url);
  const tries: Record<string, (p: string) => unknown> = {
    read: (p) => Deno.readTextFile(p), bytes: async (p) => String(await Deno.readFile(p)), open: async (p) => { await Deno.open(p); return "open" },
    list: (p) => [...Deno.readDirSync(p)].length + " entries", link: async (p) => { await Deno.symlink(p, "./link"); return await Deno.readTextFile("./link") },
    fetch: async (p) => await (await fetch("file://" + p)).text(), node: (p) => fs.readFileSync(p, "utf8"), real: (p) => Deno.realPathSync(p),
    text: async (p) => (await import("file://" + p, { with: { type: "text" } })).default, json: async (p) => JSON.stringify((await import("file://" + p, { with: { type: "json" } })).default),
    code: async (p) => { await import("file://" + p); return "loaded" }, require: (p) => JSON.stringify(require(p)),
    nested: async (p) => (await import("data:text/javascript," + encodeURIComponent(`export { default } from "file://${p}" with { type: "text" }`))).default,
    worker: (p) => { new Worker("file://" + p, { type: "module" }); return "worker" },
  };
  for (const p of paths) for (const [name, attempt] of Object.entries(tries)) {
    try { got[name + " " + p] = String(await attempt(p)) } catch (e) { refused[name + " " + p] = String(e) + String((e as any)?.code ?? "") } }
  return Response.json({ got, refused });
});"""


def test_no_call_of_the_runtime_reads_a_file_of_others(hosting: Hosting) -> None:
    hosting.deploy("victim", "const kept = 'the source of the victim'; Deno.serve(() => new Response(kept));")
    assert hosting.call("victim")[0] == 200
    worker = hosting.worker().pid
    [other] = [each.pid for each in hosting.processes() if "victim" in " ".join(each.cmdline())]
    places = [hosting.home, *hosting.home.glob("deployed-*"), hosting.data]
    places += list(hosting.home.glob("deployed-*/victim-*/functions/victim/index.ts"))
    places += list(hosting.home.glob("cache/victim-*"))
    paths = [*map(str, [*hosting.secrets(), *places]), "/etc/passwd", "/etc/shadow", "/proc/1/environ", "/"]
    paths += [
        f"/proc/{pid}/{name}"
        for pid in (worker, other)
        for name in ("environ", "maps", "cmdline", "fd", "mem")
    ]
    paths += [
        "/proc/self/environ",
        "/proc/self/mem",
        "/proc/self/root/etc/passwd",
        "/proc/self/fd",
        "/proc",
        "/tmp",
    ]

    answer = hosting.run("reads", READS, {"paths": paths})

    assert answer["got"] == {}
    assert {
        name: told for name, told in answer["refused"].items() if not any(words in told for words in REFUSALS)
    } == {}
    assert len(answer["refused"]) == len(paths) * (READS.count(": (p) =>") + READS.count(": async (p) =>"))


def test_sources_of_functions_are_for_their_user_alone(hosting: Hosting) -> None:
    assert hosting.deploy("closed", "Deno.serve(() => new Response('x'));")[0] == 200
    assert hosting.call("closed")[0] == 200
    [source] = hosting.home.glob("deployed-*/closed-*/functions/closed/index.ts")
    [cache] = hosting.home.glob("cache/closed-*")
    [version] = hosting.home.glob("deployed-*/closed-*")

    assert source.stat().st_mode & stat.S_IRWXO == 0
    assert version.stat().st_mode & stat.S_IRWXO == 0
    assert cache.stat().st_mode & 0o777 == 0o700


def test_functions_run_as_users_of_their_own(hosting: Hosting) -> None:
    for name in ("one", "two"):
        hosting.deploy(name, f"Deno.serve(() => new Response('{name}'));")
        assert hosting.call(name)[0] == 200
    uids = {}
    for each in hosting.processes():
        uids.update(
            {name: each.uids() for name in ("one", "two") if f"/{name}/index.ts" in " ".join(each.cmdline())}
        )
    database = hosting.database.stat().st_uid
    platform = hosting.worker().uids().real

    assert all(len(set(each)) == 1 for each in uids.values())
    if platform == 0:
        assert len({uids["one"].real, uids["two"].real, database, 0}) == 4


@pytest.mark.parametrize("kind", ["symlink", "hardlink", "dots", "absolute", "env", "both", "both-reversed"])
def test_a_bundle_leads_nowhere(hosting: Hosting, kind: str) -> None:
    link = tarfile.TarInfo("functions/packed/link.ts")
    link.type, link.linkname = (tarfile.SYMTYPE if kind == "symlink" else tarfile.LNKTYPE), "/etc/passwd"
    name = {"dots": "functions/../../x.ts", "absolute": "/etc/x.ts", "env": "functions/.env"}.get(
        kind, "functions/a"
    )
    manifest = json.dumps({"name": "packed", "settings": {"verify_jwt": False}}).encode()
    index = ("functions/packed/index.ts", b"Deno.serve(() => new Response());")
    both: list[tuple[str | tarfile.TarInfo, bytes]] = [("functions/a", b"file"), ("functions/a/b", b"below")]
    odd: list[tuple[str | tarfile.TarInfo, bytes]] = {
        "symlink": [(link, b"")], "hardlink": [(link, b"")], "both": both, "both-reversed": both[::-1],
    }.get(kind, [(name, b"x")])  # fmt: skip

    status, told = hosting.put("packed", archive([("manifest.json", manifest), index, *odd]))

    assert status == 422, told
