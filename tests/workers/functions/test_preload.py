"""How the preload handles responses that are not a Response of the runtime."""

import pytest

from tests.workers.functions.site import Site
from tests.workers.functions.test_worker import until

FOREIGN = """
class Other {
  status = 201; statusText = ""; headers: any = { "x-own": "yes", "content-type": "text/plain" }; bodyUsed = false;
  constructor(public body: any, more: any = {}) { Object.assign(this, more); }
}
async function* pieces() { yield "one "; yield new TextEncoder().encode("two"); }
const reader = () => { const all = ["one ", "two"]; return { read: async () => ({ done: all.length === 0, value: all.shift() }), cancel() {} }; };
const kinds: Record<string, () => any> = {
  text: () => new Other("one two"),
  bytes: () => new Other(new TextEncoder().encode("one two")),
  iterated: () => new Other(pieces()),
  reader: () => new Other({ getReader: reader }),
  stream: () => new Other(ReadableStream.from(pieces()).pipeThrough(new TransformStream({ transform: (p, c) => c.enqueue(typeof p === "string" ? new TextEncoder().encode(p) : p) }))),
  methods: () => new Other(undefined, { arrayBuffer: async () => new TextEncoder().encode("one two").buffer }),
  lines: () => new Other("one two", { headers: new Map([["x-own", "yes"]]) }),
  raw: () => new Other("one two", { headers: { raw: () => ({ "x-own": ["yes"], "set-cookie": ["a=1", "b=2"] }) } }),
  cookies: () => { const headers = new Headers({ "x-own": "yes" }); headers.append("set-cookie", "a=1"); headers.append("set-cookie", "b=2"); return new Other("one two", { headers }); },
};
Deno.serve((req) => kinds[new URL(req.url).pathname.split("/")[2]]());
"""
POLYFILLED = """
const Real = Response;
globalThis.Response = class { status; headers; body; constructor(body: any, init: any = {}) { this.body = body; this.status = init.status ?? 200; this.headers = new Headers(init.headers); } } as any;
Deno.serve((req) => req.url.endsWith("/real") ? new Real("real") : new Response("replaced", { status: 202, headers: { "x-own": "yes" } }));
"""
WRONG = """
const kinds: Record<string, () => any> = {
  text: () => "hello", number: () => 200, none: () => null, object: () => ({ ok: true }), status: () => ({ status: "200", headers: {}, body: "" }),
  range: () => ({ status: 9999, headers: {}, body: "" }), used: () => ({ status: 200, headers: {}, body: "x", bodyUsed: true }),
  header: () => ({ status: 200, headers: { "bad name": "x" }, body: "" }), body: () => ({ status: 200, headers: {}, body: 7 }),
};
Deno.serve((req) => kinds[new URL(req.url).pathname.split("/")[2]]());
"""


@pytest.mark.parametrize(
    "kind", ["text", "bytes", "iterated", "reader", "stream", "methods", "lines", "raw", "cookies"]
)
async def test_a_response_of_another_library_is_served(place: Site, kind: str) -> None:
    await place.add("foreign", FOREIGN)

    reply = await place.ask(f"/foreign/{kind}")

    assert (reply.status, reply.body, reply.header("x-own")) == (201, b"one two", "yes")
    cookies = [text for name, text in reply.headers if name == "set-cookie"]
    assert cookies == (["a=1", "b=2"] if kind in ("raw", "cookies") else [])


async def test_a_function_that_replaces_response_is_served(place: Site) -> None:
    await place.add("polyfilled", POLYFILLED)

    replaced, real = await place.ask("/polyfilled"), await place.ask("/polyfilled/real")

    assert (replaced.status, replaced.body, replaced.header("x-own")) == (202, b"replaced", "yes")
    assert (real.status, real.body) == (200, b"real")


@pytest.mark.parametrize(
    "kind", ["text", "number", "none", "object", "status", "range", "used", "header", "body"]
)
async def test_an_invalid_response_is_a_worker_error(place: Site, kind: str) -> None:
    await place.add("wrong", WRONG)

    reply = await place.ask(f"/wrong/{kind}")

    assert (reply.status, reply.json["code"]) == (500, "WORKER_ERROR")
    await until(lambda: any("Error" in text for text in place.said("wrong")))


async def test_onerror_may_answer_with_a_foreign_response_too(place: Site) -> None:
    await place.add(
        "onerror",
        """Deno.serve({ onError: (e) => ({ status: 418, headers: {}, body: (e as Error).message }) as any },
             () => { throw new Error("mine"); });""",
    )

    reply = await place.ask("/onerror")

    assert (reply.status, reply.body) == (418, b"mine")


REJECTING = """
import http from "node:http";
http.createServer(async (request, response) => {
  if (request.url.endsWith("/broken")) throw new Error("nobody waits for me");
  response.end("fine");
  if (request.url.endsWith("/late")) await new Promise((done) => response.once("close", done)).then(() => { throw new Error("too late"); });
}).listen(3000);
"""


async def test_a_handler_of_node_http_that_rejects_answers_its_request(place: Site) -> None:
    await place.add("rejecting", REJECTING)

    broken = await place.ask("/rejecting/broken")
    late, fine = await place.ask("/rejecting/late"), await place.ask("/rejecting")

    assert (broken.status, b"WORKER_ERROR" in broken.body) == (500, True)
    assert (late.status, late.body, fine.status) == (200, b"fine", 200)
