"""Connections that stay open in a browser, and break: EventSource and the WebSocket of supabase-js."""

import uuid
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser

from tests.browser.relay import Relay, relay_to
from tests.browser.windows import Window, open_window, user_context
from tests.platform import Platform

pytestmark = [pytest.mark.process_group("browser"), pytest.mark.timeout(240)]

_EVENTS = """
window.titles = []; window.opened = 0
window.source = new EventSource(
  `${API}/realtime/v1/changes?table=news&event=INSERT&filter=room=eq.${argument}&apikey=${KEY}`)
source.addEventListener('subscribed', () => { opened += 1 })
source.onmessage = ({ data }) => { titles.push(JSON.parse(data).record.title) }
"""
_CHANNEL = """
window.titles = []; window.states = []; window.readings = 0
window.channel = supabase.channel(argument)
  .on('postgres_changes', { event: 'INSERT', schema: 'public', table: 'news', filter: `room=eq.${argument}` },
    ({ new: row }) => titles.push(row.title))
  .on('system', {}, ({ status }) => { if (status === 'ok') readings += 1 })
  .subscribe((state) => states.push(state))
"""


@pytest.fixture
async def relay(server: Platform) -> AsyncIterator[Relay]:
    async with relay_to(server.url) as running:
        yield running


@pytest.fixture
async def far(browser: Browser, origin: str, server: Platform, relay: Relay) -> AsyncIterator[Window]:
    """A window whose network breaks."""
    context = await user_context(browser)
    yield await open_window(context, origin, server, relay.url)
    await context.close()


async def _insert(window: Window, room: str, title: str) -> None:
    error = await window.run(
        "return (await supabase.from('news').insert(argument)).error?.message", {"room": room, "title": title}
    )
    assert error is None, error


async def test_an_event_source_goes_on_where_it_was_cut(far: Window, window: Window, relay: Relay) -> None:
    room = uuid.uuid4().hex
    await far.run(_EVENTS, room)
    await far.wait_for("opened === 1")
    await _insert(window, room, "before")
    await far.wait_for("titles.length === 1")

    relay.cut()
    await far.wait_for("source.readyState === EventSource.CONNECTING")
    await _insert(window, room, "meanwhile")
    relay.mend()
    await far.wait_for("opened === 2")
    await _insert(window, room, "after")
    await far.wait_for("titles.length >= 3")

    assert await far.run("return titles") == ["before", "meanwhile", "after"]


async def test_a_channel_is_joined_again_after_a_break(far: Window, window: Window, relay: Relay) -> None:
    room = uuid.uuid4().hex
    await far.run(_CHANNEL, room)
    await far.wait_for("readings === 1")
    await _insert(window, room, "before")
    await far.wait_for("titles.length === 1")

    relay.cut()
    await far.wait_for("!supabase.realtime.isConnected()")
    relay.mend()
    await far.wait_for("readings === 2")
    await _insert(window, room, "after")
    await far.wait_for("titles.length >= 2")

    assert await far.run("return titles") == ["before", "after"]
    assert await far.run("return states.at(-1)") == "SUBSCRIBED"
