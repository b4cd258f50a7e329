"""Replacements for module addresses when only an npm registry can be reached (pure): an address in, another one out.

    https://esm.sh/stripe@14?target=deno                 npm:stripe@14
    https://deno.land/std@0.168.0/http/server.ts         ours, based on Deno.serve (shims/http_server.ts)
    https://deno.land/x/hono@v4.1.0/mod.ts               npm:hono@4.1.0
    jsr:@supabase/functions-js/edge-runtime.d.ts         an empty module: the original contains only types
    jsr:@std/encoding@1/base64                           ours (shims/encoding_base64.ts)
    headwater:jobs                                       ours (shims/jobs.ts), a module of the platform

Three kinds are always replaced: modules of the platform, modules that contain only types, and the old `serve` of deno.land/std, which opens a TCP port,
while a function must listen on the unix socket of its process. Others are replaced only if their host cannot be reached.
Source: docs/reference/functions.md, section 4.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

SHIM = "shim:"
"""Prefix of an address in our own folder of modules."""
JSR_HOST = "jsr.io"
JOBS = "headwater:jobs"
"""Address of the module by which a function is a durable job."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Another address for a module. `is_always`: also if the original can be reached."""

    address: str
    is_always: bool = False


_SHIMS = {
    "http/server.ts": "http_server", "http/mod.ts": "http", "http/status.ts": "http_status", "http/http_status.ts": "http_status",
    "http/cookie.ts": "http_cookie", "encoding/mod.ts": "encoding", "encoding/base64.ts": "encoding_base64",
    "encoding/base64url.ts": "encoding_base64url", "encoding/base64_url.ts": "encoding_base64url", "encoding/hex.ts": "encoding_hex",
    "dotenv/mod.ts": "dotenv", "dotenv/load.ts": "empty", "dotenv/parse.ts": "dotenv_parse", "crypto/mod.ts": "crypto",
    "crypto/crypto.ts": "crypto", "crypto/timing_safe_equal.ts": "crypto_timing_safe_equal", "uuid/mod.ts": "uuid",
    "uuid/v1.ts": "uuid_v1", "uuid/v4.ts": "uuid_v4", "uuid/v5.ts": "uuid_v5", "yaml/mod.ts": "yaml",
    "encoding/yaml.ts": "yaml", "yaml/parse.ts": "yaml", "yaml/stringify.ts": "yaml", "flags/mod.ts": "flags", "cli/mod.ts": "flags",
    "cli/parse_args.ts": "flags", "media_types/mod.ts": "media_types", "log/mod.ts": "log", "path/posix.ts": "path",
}  # fmt: skip
_WHOLE = {
    "async": "async",
    "assert": "assert",
    "bytes": "bytes",
    "path": "path",
    "media_types": "media_types",
}
"""Folders of the standard library whose modules are all replaced by one of ours."""
_ALWAYS = frozenset({"http/server.ts", "http/mod.ts"})

_DENO_LAND: Mapping[str, str] = {
    "hono": "hono", "zod": "zod", "postgresjs": "postgres", "openai": "openai", "grammy": "grammy",
    "nanoid": "nanoid", "jose": "jose", "redis": "ioredis", "sentry": "@sentry/deno", "supabase": "@supabase/supabase-js",
    "kysely": "kysely", "drizzle": "drizzle-orm", "drizzle_orm": "drizzle-orm", "bcrypt_ts": "bcrypt-ts", "lodash": "lodash-es",
    "ky": "ky", "fuse": "fuse.js", "preact": "preact", "i18next": "i18next", "stripe": "stripe", "dayjs": "dayjs",
    "itty_router": "itty-router", "marked": "marked", "xstate": "xstate", "handlebars": "handlebars", "upstash_redis": "@upstash/redis",
}  # fmt: skip
"""Packages of deno.land/x whose npm package has the same exports."""
_DROPS_VERSION = frozenset({"redis", "supabase", "lodash", "drizzle_orm", "upstash_redis"})
"""Those packages whose npm version numbers differ from their own."""
_JSR: Mapping[str, str] = {
    "@supabase/supabase-js": "@supabase/supabase-js", "@supabase/functions-js": "@supabase/functions-js",
    "@hono/hono": "hono", "@openai/openai": "openai", "@zod/zod": "zod", "@panva/jose": "jose",
    "@valibot/valibot": "valibot", "@anthropic/sdk": "@anthropic-ai/sdk",
}  # fmt: skip

_VERSION = r"(?:@(?P<version>[^/]+))?"
_NPM_PATH = re.compile(rf"/?(?P<name>(?:@[^/@]+/)?[^/@]+){_VERSION}(?P<path>/.*)?")
_JSR_NAME = re.compile(rf"jsr:/?(?P<name>@[^/@]+/[^/@]+){_VERSION}(?P<path>/.*)?")
_STD = re.compile(r"/std(?:@[^/]+)?/(?P<path>.+)")
_X = re.compile(rf"/x/(?P<name>[^/@]+){_VERSION}(?P<path>/.*)?")
_BUILD = re.compile(r"/(?:v\d+|stable|pin)(?=/)")
_TARGET = re.compile(r"/(?:es20\d\d|esnext|deno|denonext|node)(?=/)")
_NUMBER = re.compile(r"\d+(?:\.\d+){0,2}(?:[-+].+)?|[\^~].+|latest")


def rewritten(address: str) -> Rewrite | None:
    """Return another address for a module; None if it needs none or no replacement exists."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    if parts.path.endswith(".d.ts") and not address.startswith(("file:", "npm:")):
        return Rewrite(f"{SHIM}empty", is_always=True)
    if address == JOBS:
        return Rewrite(f"{SHIM}jobs", is_always=True)
    if address.startswith("jsr:"):
        return _from_jsr(address)
    if parts.scheme not in ("http", "https"):
        return None
    rewrite = _HOSTS.get(parts.hostname or "")
    return rewrite(unquote(parts.path)) if rewrite else None


def host_of(address: str) -> str | None:
    """Return the host that a module is loaded from; None if it comes from the npm registry."""
    if address.startswith("jsr:"):
        return JSR_HOST
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return parts.netloc if parts.scheme in ("http", "https") else None


def _from_jsr(address: str) -> Rewrite | None:
    match = _JSR_NAME.fullmatch(address)
    if match is None:
        return None
    name, path = match["name"], match["path"] or ""
    if name.startswith("@std/"):
        module = f"{name.removeprefix('@std/')}{path or '/mod'}".replace("-", "_")
        return _standard(f"{module.removesuffix('.ts')}.ts", is_jsr=True)
    if name == "@oak/oak":
        return Rewrite(f"{SHIM}oak")
    npm_name = _JSR.get(name)
    version = "" if npm_name != name else f"@{match['version']}" if match["version"] else ""
    return Rewrite(f"npm:{npm_name}{version}{path}") if npm_name else None


def _from_deno_land(path: str) -> Rewrite | None:
    if match := _STD.fullmatch(path):
        return _standard(match["path"])
    match = _X.fullmatch(path)
    if match is not None and match["name"] == "oak":
        return Rewrite(f"{SHIM}oak")
    if match is None or (name := _DENO_LAND.get(match["name"])) is None:
        return None
    version = (match["version"] or "").removeprefix("v")
    has_same_versions = _NUMBER.fullmatch(version) and match["name"] not in _DROPS_VERSION
    return Rewrite(
        f"npm:{name}{f'@{version}' if has_same_versions else ''}{_below(match['name'], match['path'] or '')}"
    )


def _below(name: str, path: str) -> str:
    """Return the path inside the npm package for a file of a deno.land/x package; its main file is the package itself."""
    inner = path.removesuffix(".ts").removesuffix(".js").removesuffix("/mod").removesuffix("/index")
    if inner.strip("/") in ("", "mod", "index", name, "src", "lib"):
        return ""
    if name == "hono":
        return inner.replace("/middleware", "").removesuffix(".tsx")
    return inner


def _standard(path: str, *, is_jsr: bool = False) -> Rewrite | None:
    """Return our module for a module of the standard library."""
    if path.startswith("node/"):
        return Rewrite(f"node:{path.removeprefix('node/').removesuffix('.ts')}")
    folder = path.partition("/")[0]
    named = _SHIMS.get(path) or _WHOLE.get("assert" if path == "testing/asserts.ts" else folder)
    return Rewrite(f"{SHIM}{named}", is_always=path in _ALWAYS and not is_jsr) if named else None


def _from_esm_sh(path: str) -> Rewrite | None:
    path = _BUILD.sub("", path, count=1)
    if path.startswith("/jsr/"):
        return _from_jsr(f"jsr:{path.removeprefix('/jsr/')}")
    if path.startswith(("/gh/", "/pr/", "/https:")):
        return None
    return _package(_TARGET.sub("", path.replace("/*", "/", 1)))


def _from_skypack(path: str) -> Rewrite | None:
    pinned = re.fullmatch(
        r"/(?:-|pin)/(?P<name>(?:@[^/@]+/)?[^/@]+)@v(?P<version>[\d.]+)-[^/]+(?:/.*)?", path
    )
    return Rewrite(f"npm:{pinned['name']}@{pinned['version']}") if pinned else _package(path)


def _from_jsdelivr(path: str) -> Rewrite | None:
    return _package(path.removeprefix("/npm").removesuffix("/+esm")) if path.startswith("/npm/") else None


def _from_jspm(path: str) -> Rewrite | None:
    return _package(path.removeprefix("/npm:")) if path.startswith("/npm:") else None


def _package(path: str) -> Rewrite | None:
    match = _NPM_PATH.fullmatch(path)
    if match is None:
        return None
    version = f"@{match['version']}" if match["version"] else ""
    return Rewrite(f"npm:{match['name']}{version}{(match['path'] or '').rstrip('/')}")


_HOSTS: Mapping[str, Callable[[str], Rewrite | None]] = {
    "deno.land": _from_deno_land,
    "esm.sh": _from_esm_sh,
    "cdn.esm.sh": _from_esm_sh,
    "cdn.skypack.dev": _from_skypack,
    "unpkg.com": _package,
    "cdn.jsdelivr.net": _from_jsdelivr,
    "jspm.dev": _from_jspm,
    "ga.jspm.io": _from_jspm,
}
