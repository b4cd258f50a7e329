"""Functions that the official clients call in these tests."""

from pathlib import Path

ECHO = """Deno.serve(async (req) => Response.json({
  method: req.method, url: req.url, type: req.headers.get("content-type"),
  headers: Object.fromEntries(req.headers), text: await req.text(),
}));
"""
KINDS = """const typed = (body: BodyInit, type: string) => new Response(body, { headers: { "content-type": type } });
Deno.serve(async (req) => {
  switch (new URL(req.url).pathname) {
    case "/kinds/text": return new Response("plain");
    case "/kinds/json": return typed('{"a":1}', "Application/JSON; charset=utf-8");
    case "/kinds/blob": return typed(new Uint8Array([1, 2, 3]), "application/octet-stream");
    case "/kinds/form": { const form = new FormData(); form.set("name", "ada"); return new Response(form); }
    case "/kinds/events": return typed(new ReadableStream({ async start(c) {
      for (const n of [1, 2]) { c.enqueue(new TextEncoder().encode(`data: ${n}\\n\\n`)); await new Promise((r) => setTimeout(r, 20)); }
      c.close(); } }), "text/event-stream");
    case "/kinds/teapot": return new Response("short and stout", { status: 418 });
    case "/kinds/slow": await new Promise((r) => setTimeout(r, 5000)); return new Response("late");
    default: throw new Error("on purpose");
  }
});
"""


def write_functions(project: Path) -> None:
    """Write the functions into a project's folder."""
    for name, source in {"echo": ECHO, "kinds": KINDS}.items():
        folder = project / "supabase" / "functions" / name
        folder.mkdir(parents=True)
        (folder / "index.ts").write_text(source)
