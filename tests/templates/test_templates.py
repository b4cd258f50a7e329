"""Functions in the style of the official guides, run unchanged by a whole platform that reaches nothing but npm."""

import hashlib
import hmac
import json
import shutil
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import jwt
import pytest

from tests.platform import Platform, platform

FUNCTIONS = Path(__file__).parent / "functions"
SECRET = "whsec_of_a_test"
OPEN = ("payment-webhook", "websocket", "exported")
SQL = """
create table public.function_notes (id serial primary key, owner uuid not null, title text not null);
alter table public.function_notes enable row level security;
create policy own on public.function_notes for select to authenticated using ((select auth.uid()) = owner);
insert into public.function_notes (owner, title) values
  ('00000000-0000-0000-0000-00000000000a', 'mine'), ('00000000-0000-0000-0000-00000000000b', 'not mine');
"""
OWNER = "00000000-0000-0000-0000-00000000000a"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform of a project with all templates."""
    project = tmp_path_factory.mktemp("templates")
    shutil.copytree(FUNCTIONS, project / "supabase" / "functions")
    (project / "supabase" / "functions" / ".env").write_text(f"WEBHOOK_SECRET={SECRET}\n")
    sections = "".join(f"[functions.{name}]\nverify_jwt = false\n" for name in OPEN)
    nightly = '[functions.nightly]\nschedule = "0 3 * * *"\n'
    (project / "supabase" / "config.toml").write_text(f"[edge_runtime]\noffline = true\n{sections}{nightly}")
    with platform("--project", str(project)) as one:
        done = one.command("psql", "-c", SQL)
        assert done.returncode == 0, done.stderr
        one.wait_for_catalog("function_notes")
        yield one


@pytest.fixture
async def http(served: Platform) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {served.values['ANON_KEY']}"}
    async with aiohttp.ClientSession(base_url=f"{served.url}/functions/v1/", headers=headers) as session:
        yield session


async def ask(
    http: aiohttp.ClientSession,
    path: str,
    body: object = None,
    *,
    method: str = "POST",
    headers: Mapping[str, str] = {},
) -> tuple[int, Any]:
    """Send JSON and read JSON."""
    async with http.request(method, path, json=body, headers=headers) as answer:
        text = await answer.text()
        return answer.status, json.loads(text) if text.startswith(("{", "[")) else text


def said(served: Platform, name: str, text: str) -> bool:
    """Wait until a function has printed a text."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if text in served.command("functions", "logs", name).stdout:
            return True
    return False


async def test_hello(http: aiohttp.ClientSession) -> None:
    assert await ask(http, "hello", {"name": "Ada"}) == (200, {"message": "Hello Ada!"})


async def test_cors_and_json(http: aiohttp.ClientSession) -> None:
    asked = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    async with http.options("cors-json", headers=asked) as preflight:
        assert preflight.headers.getall("access-control-allow-origin") == ["*"]
        assert await preflight.text() == "ok"

    assert await ask(http, "cors-json", {"items": [{"price": 2}, {"price": 3}]}) == (200, {"total": 5})
    assert (await ask(http, "cors-json", {}))[0] == 400


async def test_rows_are_those_of_the_caller(served: Platform, http: aiohttp.ClientSession) -> None:
    claims = {"role": "authenticated", "sub": OWNER, "exp": int(time.time()) + 600}
    token = jwt.encode(claims, served.values["JWT_SECRET"], algorithm="HS256")

    as_owner = await ask(http, "own-notes", method="GET", headers={"Authorization": f"Bearer {token}"})
    assert as_owner == (200, {"notes": [{"title": "mine"}]})
    assert await ask(http, "own-notes", method="GET") == (200, {"notes": []})


async def test_a_webhook_verifies_its_sender(served: Platform) -> None:
    body = b'{"type":"payment.done"}'
    signature = hmac.new(SECRET.encode(), b"17." + body, hashlib.sha256).hexdigest()
    async with aiohttp.ClientSession(base_url=f"{served.url}/functions/v1/") as http:
        async with http.post(
            "payment-webhook", data=body, headers={"Stripe-Signature": f"t=17,v1={signature}"}
        ) as good:
            assert await good.json() == {"received": True, "type": "payment.done"}
        async with http.post("payment-webhook", data=body, headers={"Stripe-Signature": "t=17,v1=00"}) as bad:
            assert bad.status == 400


async def test_tokens_come_as_events(http: aiohttp.ClientSession) -> None:
    async with http.post("chat-stream", json={"prompt": "well"}) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        events = [line.decode() async for line in answer.content if line.strip()]

    assert events[-1] == "data: [DONE]\n"
    parts = [
        json.loads(event.removeprefix("data: "))["choices"][0]["delta"]["content"] for event in events[:-1]
    ]
    assert "".join(parts) == "You said: well "


async def test_hono(http: aiohttp.ClientSession) -> None:
    assert await ask(http, "hono-router/tasks/1", {"title": "a"}, method="PUT") == (
        201,
        {"title": "a", "done": False},
    )
    assert await ask(http, "hono-router/tasks", method="GET") == (200, [{"title": "a", "done": False}])
    assert (await ask(http, "hono-router/tasks/2", method="GET"))[0] == 404
    assert (await ask(http, "hono-router/tasks/1", {"title": ""}, method="PUT"))[0] == 422


async def test_express(http: aiohttp.ClientSession) -> None:
    assert await ask(http, "express-app", method="GET") == (200, "Hello from Express")
    assert await ask(http, "express-app/echo", {"a": 1}) == (201, {"echoed": {"a": 1}})


async def test_oak(http: aiohttp.ClientSession) -> None:
    assert await ask(http, "oak-app?name=Ada", method="GET") == (200, {"greeting": "Hello Ada"})
    assert (await ask(http, "oak-app/nothing", method="GET"))[0] == 404


async def test_a_file_is_taken_from_a_form(http: aiohttp.ClientSession) -> None:
    content = bytes(range(256)) * 4096
    form = aiohttp.FormData({"title": "Signs"})
    form.add_field("file", content, filename="signs.bin", content_type="application/octet-stream")

    async with http.post("file-upload", data=form) as answer:
        told = await answer.json()

    assert told == {
        "name": "signs.bin", "type": "application/octet-stream", "size": len(content), "title": "Signs",
        "sha256": hashlib.sha256(content).hexdigest(),
    }  # fmt: skip


async def test_a_websocket(http: aiohttp.ClientSession) -> None:
    async with http.ws_connect("websocket") as socket:
        assert await socket.receive_str() == "welcome"
        for number, word in enumerate(("one", "two"), 1):
            await socket.send_str(word)
            assert await socket.receive_str() == f"{number}: {word}"


async def test_work_goes_on_behind_the_answer(served: Platform, http: aiohttp.ClientSession) -> None:
    assert await ask(http, "background", {"id": "job-7"}) == (202, {"accepted": "job-7"})

    assert said(served, "background", "finished job-7")


async def test_a_scheduled_function_is_told_its_moment(served: Platform, http: aiohttp.ClientSession) -> None:
    assert await ask(http, "nightly", {"scheduled_at": "2026-01-02T03:00:00Z"}) == (
        200,
        {"day": "2026-01-02"},
    )
    assert "0 3 * * *" in served.command("functions", "list").stdout


async def test_sql_as_the_owner(http: aiohttp.ClientSession) -> None:
    assert await ask(http, "direct-sql", {"limit": 5}) == (200, {"rows": ["mine", "not mine"]})


async def test_the_old_serve(http: aiohttp.ClientSession) -> None:
    assert await ask(http, "old-serve", {"name": "Ada"}) == (
        200,
        {"greeting": "Hello Ada", "encoded": "QWRh"},
    )


async def test_a_default_export(http: aiohttp.ClientSession) -> None:
    assert await ask(http, "exported/deep", method="GET") == (200, {"path": "/exported/deep"})


async def test_oak_that_listens(http: aiohttp.ClientSession) -> None:
    assert await ask(http, "oak-listens", {}) == (201, "asked by POST")
