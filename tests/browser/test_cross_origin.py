"""A page of another origin uses the interfaces: preflights, what its scripts may read, cookies, the browser's cache."""

import uuid

import httpx
import pytest

from tests.browser.windows import Window, load_again
from tests.platform import Platform

pytestmark = [pytest.mark.process_group("browser"), pytest.mark.timeout(240)]

_PATHS = [
    "/rest/v1/news?limit=1", "/auth/v1/settings", "/storage/v1/bucket", "/graphql/v1", "/functions/v1/missing",
    "/realtime/v1/changes?table=missing",
]  # fmt: skip


async def test_a_write_with_headers_of_its_own_is_permitted_by_a_preflight(window: Window) -> None:
    room = uuid.uuid4().hex

    row = await window.run(
        """
        const { data, error } = await supabase.from('news').insert({ room: argument, title: 'one' }).select().single()
        return error ?? data
        """,
        room,
    )

    assert (row["room"], row["title"]) == (room, "one")
    await window.network.settled()
    assert window.network.preflights == 1


async def test_a_preflight_is_remembered(window: Window) -> None:
    for _ in range(3):
        await window.run("await supabase.from('news').select('id').limit(1)")

    await window.network.settled()
    assert window.network.preflights == 1


async def test_scripts_read_every_answer_errors_included(window: Window) -> None:
    """Without CORS headers on an error `fetch` throws, and the page never learns the status."""
    for path in _PATHS:
        for headers in ("{ apikey: KEY, 'x-of-the-page': '1' }", "{}"):
            status, body = await window.run(
                f"const r = await fetch(API + argument, {{ headers: {headers} }}); return [r.status, await r.text()]",
                path,
            )

            assert 200 <= status < 500, path
            assert "KEY" in headers or status in (200, 400, 401, 404, 405), (path, body)


async def test_the_count_of_rows_is_read_across_origins(window: Window) -> None:
    room = uuid.uuid4().hex

    count = await window.run(
        """
        await supabase.from('news').insert([1, 2, 3].map((n) => ({ room: argument, title: String(n) })))
        const { count } = await supabase.from('news').select('*', { count: 'exact', head: true }).eq('room', argument)
        return count
        """,
        room,
    )

    assert count == 3


async def test_the_id_of_a_request_is_read_across_origins(window: Window) -> None:
    identity = await window.run(
        "const r = await fetch(API + '/storage/v1/bucket', { headers: { apikey: KEY } }); return r.headers.get('x-request-id')"
    )

    assert identity


_READABLE = {
    "/rest/v1/tallies?order=id&limit=1": (200, ["etag", "link", "x-request-id"]),
    "/rest/v1/rpc/be_overloaded": (503, ["retry-after", "x-request-id"]),
    "/rest/v1/missing": (404, ["x-request-id"]),
    "/auth/v1/settings": (200, ["x-request-id"]),
    "/functions/v1/missing": (404, ["x-request-id"]),
}


async def test_headers_of_answers_are_read_across_origins(window: Window) -> None:
    for path, (status, names) in _READABLE.items():
        answer = await window.run(
            """
            const [path, names] = argument
            const { status, headers } = await fetch(API + path, { headers: { apikey: KEY, prefer: 'pagination=cursor' } })
            return [status, names.filter((name) => !headers.get(name))]
            """,
            [path, names],
        )

        assert answer == [status, []], path


async def test_a_public_object_comes_from_the_cache_and_is_asked_for_again_when_it_is_old(
    window: Window,
) -> None:
    name = uuid.uuid4().hex
    upload = """
        const { error } = await supabase.storage.from('posters').upload(
          argument[0], new Blob([argument[1]], { type: 'text/plain' }), { upsert: true, cacheControl: '3600' })
        return error?.message
    """
    read = """
        const url = supabase.storage.from('posters').getPublicUrl(argument[0]).data.publicUrl
        return (await fetch(url, { cache: argument[1] })).text()
    """
    assert await window.run(upload, [name, "first"]) is None
    assert await window.run(read, [name, "default"]) == "first"
    await window.network.settled()
    statuses, cached = len(window.network.statuses), window.network.cached

    assert await window.run(read, [name, "default"]) == "first"
    await window.network.settled()
    assert (len(window.network.statuses), window.network.cached > cached) == (statuses, True)

    assert await window.run(read, [name, "no-cache"]) == "first"
    await window.network.settled()
    assert window.network.statuses[statuses:] == [304]

    assert await window.run(upload, [name, "second"]) is None
    assert await window.run(read, [name, "no-cache"]) == "second"


_SIGN_IN = """
const { data } = await supabase.auth.signInWithOAuth({
  provider: 'keycloak', options: { skipBrowserRedirect: true, queryParams: { login_hint: argument } } })
return data.url
"""


async def _address_of_sign_in(window: Window) -> str:
    return str(await window.run(_SIGN_IN, f"{uuid.uuid4().hex[:8]}@example.com"))


async def test_a_sign_in_at_a_provider_sets_a_cookie_that_scripts_do_not_read(
    window: Window, server: Platform
) -> None:
    address = await _address_of_sign_in(window)
    async with window.page.expect_response(lambda answer: "/auth/v1/authorize" in answer.url) as departure:
        await load_again(window, server, address)
    cookie = (await (await departure.value).all_headers())["set-cookie"]

    await window.wait_for_session()

    assert {"httponly", "samesite=lax"} <= {part.strip().lower() for part in cookie.split(";")}
    assert await window.page.evaluate("document.cookie") == ""


async def test_the_callback_of_another_browser_signs_nobody_in(window: Window, server: Platform) -> None:
    """The attack: a victim is sent to the address at which the attacker's own sign-in would end."""
    address = await _address_of_sign_in(window)
    with httpx.Client() as attacker:  # another browser: the cookie of the departure stays in it
        while "/auth/v1/callback?" not in address:
            address = attacker.get(address).headers["location"]

    await load_again(window, server, address)

    assert "error" in window.page.url
    assert await window.run("return (await supabase.auth.getSession()).data.session") is None
