"""Functions that answer: the request they see, all forms of handlers and bodies, errors."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from schemas.caller import AnonymousCaller
from tests.workers.functions.site import Site

HELLO = "Deno.serve(() => new Response('hello'));"
ECHO = """
Deno.serve(async (req) => {
  const url = new URL(req.url);
  const copy = req.clone();
  const again = new Request(req.clone());
  return Response.json({
    method: req.method, url: req.url, copy: copy.url, again: again.url, path: url.pathname,
    body: await again.text(), headers: Object.fromEntries(req.headers), is: req instanceof Request,
  });
});
"""
BODIES = """
Deno.serve(async (req) => {
  const kind = new URL(req.url).pathname.split("/")[2];
  switch (kind) {
    case "json": return Response.json(await req.json());
    case "text": return new Response((await req.text()).toUpperCase());
    case "blob": return new Response(new Blob([await req.arrayBuffer()]), { headers: { "content-type": "application/octet-stream" } });
    case "form": { const form = await req.formData(); return Response.json([...form.keys()]); }
    case "empty": return new Response(null, { status: 204 });
    case "cookies": { const r = new Response("x"); r.headers.append("set-cookie", "a=1"); r.headers.append("set-cookie", "b=2"); return r; }
    case "count": { let n = 0; for await (const piece of req.body!) n += piece.length; return new Response(String(n)); }
    case "large": { const piece = new Uint8Array(1 << 20); let n = 0;
      return new Response(new ReadableStream({ pull(c) { if (n++ < 64) c.enqueue(piece); else c.close(); } })); }
    default: return new Response(req.body);
  }
});
"""
ERRORS = """
Deno.serve((req) => {
  const kind = new URL(req.url).pathname.split("/")[2];
  if (kind === "throw") throw new Error("on purpose");
  if (kind === "reject") return Promise.reject(new Error("rejected on purpose"));
  if (kind === "nothing") return undefined as any;
  if (kind === "later") { setTimeout(() => { throw new Error("later"); }); Promise.reject(new Error("unheard")); }
  return new Response("fine", { status: kind === "teapot" ? 418 : 200 });
});
"""


async def pieces(*each: bytes) -> AsyncIterator[bytes]:
    for piece in each:
        yield piece


async def until(check: object, seconds: float = 20) -> None:
    """Wait until a condition is true."""
    assert callable(check)
    async with asyncio.timeout(seconds):
        while not check():
            await asyncio.sleep(0.02)


async def test_a_function_sees_the_public_request(place: Site) -> None:
    await place.add("echo", ECHO)

    reply = await place.ask("/echo/a%20b?x=1&y=ü", method="PUT", body=b"data", headers={"x-mine": "1"})

    assert reply.status == 200
    seen = reply.json
    assert seen["method"] == "PUT"
    assert seen["body"] == "data"
    assert seen["is"] is True
    assert seen["url"] == "https://api.example:8000/echo/a%20b?x=1&y=%C3%BC"
    assert seen["copy"] == seen["again"] == seen["url"]
    assert seen["headers"]["x-mine"] == "1"
    assert seen["headers"]["x-request-id"] == "test"


@pytest.mark.parametrize(
    ("kind", "sent", "got"),
    [
        ("json", b'{"a": [1, 2]}', b'{"a":[1,2]}'),
        ("text", "größe".encode(), "GRÖSSE".encode()),
        ("blob", bytes(range(256)), bytes(range(256))),
        ("empty", b"", b""),
        ("same", b"streamed back", b"streamed back"),
    ],
)
async def test_bodies_of_every_kind_pass_both_ways(place: Site, kind: str, sent: bytes, got: bytes) -> None:
    await place.add("bodies", BODIES)

    reply = await place.ask(f"/bodies/{kind}", method="POST", body=sent)

    assert reply.status == (204 if kind == "empty" else 200)
    assert reply.body == got


async def test_forms_and_cookies_are_unchanged(place: Site) -> None:
    await place.add("bodies", BODIES)
    form = b"--x\r\ncontent-disposition: form-data; name=a\r\n\r\n1\r\n--x\r\ncontent-disposition: form-data; name=b; filename=f\r\n\r\n2\r\n--x--\r\n"

    keys = await place.ask(
        "/bodies/form", method="POST", body=form, headers={"content-type": "multipart/form-data; boundary=x"}
    )
    cookies = await place.ask("/bodies/cookies")

    assert keys.json == ["a", "b"]
    assert [text for name, text in cookies.headers if name == "set-cookie"] == ["a=1", "b=2"]


async def test_long_bodies_stream_both_ways(place: Site) -> None:
    await place.add("bodies", BODIES)

    counted = await place.ask("/bodies/count", method="POST", pieces=pieces(*[bytes(1 << 20)] * 48))
    large = await place.ask("/bodies/large")

    assert counted.body == str(48 << 20).encode()
    assert len(large.body) == 64 << 20


async def test_a_thrown_error_is_a_worker_error_with_its_place_in_the_log(place: Site) -> None:
    await place.add("errors", ERRORS)

    for kind in ("throw", "reject", "nothing"):
        reply = await place.ask(f"/errors/{kind}")
        assert reply.status == 500
        assert reply.json == {
            "code": "WORKER_ERROR",
            "message": "Function exited due to an error (please check logs)",
        }
    await until(
        lambda: any(
            "(functions/errors/index.ts:4:" in text or "at functions/errors/index.ts:4:" in text
            for text in place.said("errors")
        )
    )
    assert (await place.ask("/errors/teapot")).status == 418


async def test_an_error_after_a_response_does_not_stop_the_process(place: Site) -> None:
    await place.add("errors", ERRORS)

    assert (await place.ask("/errors/later")).status == 200
    await until(lambda: any("unheard" in text for text in place.said("errors")))
    await until(lambda: any("Uncaught Error: later" in text for text in place.said("errors")))

    assert (await place.ask("/errors")).status == 200
    assert len(place.said("errors", "boot")) == 1


@pytest.mark.parametrize(
    "source",
    [
        "export default { fetch: (req: Request) => new Response('ok ' + new URL(req.url).protocol) };",
        "Deno.serve({ port: 8000, hostname: '0.0.0.0' }, (req) => new Response('ok ' + new URL(req.url).protocol));",
        "Deno.serve({ handler: (req) => new Response('ok ' + new URL(req.url).protocol) });",
        "await Promise.resolve(); Deno.serve((req) => new Response('ok ' + new URL(req.url).protocol));",
    ],
)
async def test_every_form_of_a_handler_is_served(place: Site, source: str) -> None:
    await place.add("forms", source)

    reply = await place.ask("/forms")

    assert (reply.status, reply.body) == (200, b"ok https:")


async def test_a_server_of_node_is_served(place: Site) -> None:
    await place.add(
        "node",
        'import http from "node:http"; http.createServer((q, s) => s.end(`node ${q.url}`)).listen(3000);',
    )

    assert (await place.ask("/node/a?b")).body == b"node /node/a?b"


async def test_a_slow_function_times_out(place: Site) -> None:
    await place.add("slow", "Deno.serve(() => new Promise(() => {}));")

    reply = await place.ask("/slow")

    assert reply.status == 504
    assert reply.json["code"] == "IDLE_TIMEOUT"


async def test_a_client_that_leaves_aborts_the_request(place: Site) -> None:
    await place.add(
        "patient",
        """Deno.serve((req) => new Promise(() => {
             console.log("begun"); req.signal.addEventListener("abort", () => console.log("aborted")); }));""",
    )

    asking = asyncio.ensure_future(place.ask("/patient"))
    await until(lambda: "begun" in place.said("patient"))
    asking.cancel()

    await until(lambda: "aborted" in place.said("patient"))


async def test_events_arrive_one_by_one(place: Site) -> None:
    await place.add(
        "events",
        """let go: (x: unknown) => void;
           Deno.serve((req) => {
             if (req.url.endsWith("/go")) { go(0); return new Response(""); }
             return new Response(new ReadableStream({ async start(c) {
               c.enqueue("data: 1\\n\\n"); await new Promise((r) => go = r); c.enqueue("data: 2\\n\\n"); c.close(); } })
               .pipeThrough(new TextEncoderStream()), { headers: { "content-type": "text/event-stream" } }); });""",
    )

    answer = await place.open("/events")
    assert answer.chunks is not None
    assert answer.response.headers[0] == ("content-type", "text/event-stream")
    assert await anext(answer.chunks) == b"data: 1\n\n"
    await place.ask("/events/go")
    assert await anext(answer.chunks) == b"data: 2\n\n"
    with pytest.raises(StopAsyncIteration):
        await anext(answer.chunks)


async def test_work_continues_after_the_response_and_delays_the_shutdown(place: Site) -> None:
    await place.add(
        "behind",
        """addEventListener("beforeunload", (e: any) => console.log("end: " + e.detail.reason));
           addEventListener("unload", () => console.log("unload"));
           Deno.serve(() => { EdgeRuntime.waitUntil(new Promise((r) => setTimeout(() => { console.log("done"); r(0); }, 400)));
             return new Response("early"); });""",
    )

    assert (await place.ask("/behind")).body == b"early"
    await place.add("behind", HELLO)
    await until(lambda: place.said("behind", "shutdown"))

    assert place.said("behind") == ["end: early_drop", "done", "unload"]


async def test_lines_name_their_request(place: Site) -> None:
    await place.add(
        "speaks",
        """Deno.serve(async (req) => { console.warn("before"); await new Promise((r) => setTimeout(r, 20));
             console.log("after", "x".repeat(20000)); return new Response(""); });""",
    )

    await asyncio.gather(*(place.ask("/speaks", id=f"id-{n}") for n in range(5)))
    await until(lambda: len(place.said("speaks")) == 10)

    lines = [line for line in place.lines if line.function == "speaks" and line.event == "log"]
    assert sorted(line.request_id for line in lines) == sorted(f"id-{n}" for n in range(5) for _ in range(2))
    assert {line.level for line in lines} == {"warning", "info"}
    assert max(len(line.text) for line in lines) == 10_000


async def test_one_process_answers_ten_requests_at_once(place: Site) -> None:
    await place.add("hello", HELLO)

    replies = await asyncio.gather(*(place.ask("/hello") for _ in range(10)))

    assert {reply.body for reply in replies} == {b"hello"}
    assert len(place.said("hello", "boot")) == 1


async def test_a_change_applies_to_the_next_request_and_the_old_one_finishes(place: Site) -> None:
    await place.add(
        "changes",
        "Deno.serve(async () => { await new Promise((r) => setTimeout(r, 500)); return new Response('old'); });",
    )
    await place.ask("/changes")

    old = asyncio.ensure_future(place.ask("/changes"))
    await until(
        lambda: any(each.function.name == "changes" and each.in_flight for each in place.worker.instances)
    )
    await place.add("changes", "Deno.serve(() => new Response('new'));")

    assert (await place.ask("/changes")).body == b"new"
    assert (await old).body == b"old"


async def test_a_failed_start_is_reported_and_a_change_repairs_it(place: Site) -> None:
    await place.add("broken", "Deno.serve(() => new Response('x'")

    for _ in range(6):
        reply = await place.ask("/broken")
        assert reply.status == 503
        assert reply.json["code"] == "BOOT_ERROR"
    assert len(place.said("broken", "boot_error")) < 6
    assert any("broken/index.ts:1" in text for text in place.said("broken"))

    await place.add("broken", HELLO)
    assert (await place.ask("/broken")).body == b"hello"


async def test_unknown_names_are_rejected(place: Site) -> None:
    place.write("_shared/index.ts", HELLO)
    await place.add("hello", HELLO)

    assert (await place.ask("/")).status == 400
    assert (await place.ask("/missing")).json["code"] == "NOT_FOUND"
    for path in ("/_shared", "/..", "/.env", "/hello%2f..", "/" + "a" * 200):
        assert (await place.ask(path)).status == 404
    assert (await place.ask("/_internal/health")).json == {"message": "ok"}


async def test_a_function_requires_a_token_except_for_preflights(place: Site) -> None:
    await place.add("hello", HELLO)

    refused = await place.ask("/hello", caller=AnonymousCaller())
    preflight = await place.ask("/hello", method="OPTIONS", caller=AnonymousCaller())

    assert refused.status == 401
    assert refused.header("x-relay-error") == "true"
    assert refused.header("sb-error-code") == "UNAUTHORIZED_NO_AUTH_HEADER"
    assert refused.json == {
        "code": "UNAUTHORIZED_NO_AUTH_HEADER",
        "message": "Missing authorization header",
        "msg": "Missing authorization header",
    }
    assert preflight.status == 200
