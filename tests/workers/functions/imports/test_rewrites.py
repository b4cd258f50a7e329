import pytest

from workers.functions.imports.rewrites import Rewrite, host_of, rewritten

CASES = [
    ("https://deno.land/std@0.168.0/http/server.ts", Rewrite("shim:http_server", is_always=True)),
    ("https://deno.land/std/http/server.ts", Rewrite("shim:http_server", is_always=True)),
    ("https://deno.land/std@0.177.0/encoding/base64.ts", Rewrite("shim:encoding_base64")),
    ("https://deno.land/std@0.177.0/node/crypto.ts", Rewrite("node:crypto")),
    ("https://deno.land/std@0.200.0/testing/asserts.ts", Rewrite("shim:assert")),
    ("https://deno.land/std@0.168.0/wasi/snapshot_preview1.ts", None),
    ("jsr:@std/encoding@1/base64", Rewrite("shim:encoding_base64")),
    ("jsr:@std/encoding", Rewrite("shim:encoding")),
    ("jsr:@std/dotenv/load", Rewrite("shim:empty")),
    ("jsr:@std/http@1", Rewrite("shim:http")),
    ("jsr:@std/crypto/timing-safe-equal", Rewrite("shim:crypto_timing_safe_equal")),
    ("headwater:jobs", Rewrite("shim:jobs", is_always=True)),
    ("jsr:@supabase/functions-js/edge-runtime.d.ts", Rewrite("shim:empty", is_always=True)),
    ("https://esm.sh/@supabase/functions-js/src/edge-runtime.d.ts", Rewrite("shim:empty", is_always=True)),
    ("jsr:@supabase/supabase-js@2", Rewrite("npm:@supabase/supabase-js@2")),
    ("jsr:/@supabase/supabase-js@2", Rewrite("npm:@supabase/supabase-js@2")),
    ("jsr:@oak/oak@17", Rewrite("shim:oak")),
    ("jsr:@nobody/knows", None),
    ("https://esm.sh/stripe@14.1.0?target=deno&no-check", Rewrite("npm:stripe@14.1.0")),
    ("https://esm.sh/v135/@supabase/supabase-js@2.7.1", Rewrite("npm:@supabase/supabase-js@2.7.1")),
    ("https://esm.sh/preact@10/hooks", Rewrite("npm:preact@10/hooks")),
    ("https://esm.sh/*zod@3", Rewrite("npm:zod@3")),
    ("https://esm.sh/jsr/@std/encoding@1/hex", Rewrite("shim:encoding_hex")),
    ("https://esm.sh/gh/someone/something", None),
    ("https://cdn.skypack.dev/lodash@4?dts", Rewrite("npm:lodash@4")),
    ("https://cdn.skypack.dev/pin/nanoid@v4.0.0-abc123/mode=imports/nanoid.js", Rewrite("npm:nanoid@4.0.0")),
    ("https://unpkg.com/dayjs@1.11.0/dayjs.min.js", Rewrite("npm:dayjs@1.11.0/dayjs.min.js")),
    ("https://cdn.jsdelivr.net/npm/ky@1/+esm", Rewrite("npm:ky@1")),
    ("https://cdn.jsdelivr.net/gh/someone/something@1/a.js", None),
    ("https://deno.land/x/hono@v4.1.0/mod.ts", Rewrite("npm:hono@4.1.0")),
    ("https://deno.land/x/hono@v4.1.0/middleware.ts", Rewrite("npm:hono@4.1.0")),
    ("https://deno.land/x/oak@v12.6.1/mod.ts", Rewrite("shim:oak")),
    ("https://deno.land/x/postgresjs@v3.4.4/mod.js", Rewrite("npm:postgres@3.4.4")),
    ("https://deno.land/x/nobody@v1/mod.ts", None),
    ("https://example.com/mod.ts", None),
    ("npm:zod@3", None),
    ("node:fs", None),
    ("file:///a/b.d.ts", None),
]  # fmt: skip


@pytest.mark.parametrize(("address", "expected"), CASES)
def test_external_addresses_are_rewritten(address: str, expected: Rewrite | None) -> None:
    assert rewritten(address) == expected


def test_the_host_of_a_module_is_returned() -> None:
    assert host_of("https://esm.sh/zod") == "esm.sh"
    assert host_of("http://localhost:8000/a.ts") == "localhost:8000"
    assert host_of("npm:zod") is None
    assert host_of("jsr:@std/path") is not None
