"""Windows of browsers: pages of the site with a supabase-js client of the platform in them."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Browser, BrowserContext, Page

from tests.platform import Platform

_OPEN = """async ([url, key]) => { window.supabase = createClient(url, key); window.API = url; window.KEY = key }"""
_SESSION = """
while ((await supabase.auth.getSession()).data.session === null) await new Promise((resolve) => setTimeout(resolve, 20))
"""
_SESSION_S = 45
_NETWORK_S = 45
PASSWORD = "a long enough passphrase"


@dataclass(slots=True)
class Network:
    """What the browser's network did for a page, by the DevTools protocol: also what scripts do not see."""

    statuses: list[int] = field(default_factory=list)
    """Statuses that came over the network, in order: a 304 is a 200 to scripts."""
    preflights: int = 0
    cached: int = 0
    """Answers of the browser's cache."""
    sent: int = 0
    """Requests of the page, preflights included."""

    async def settled(self) -> None:
        """Wait until all requests are counted as answered: that arrives here later than the answers in the page."""
        async with asyncio.timeout(_NETWORK_S):
            while len(self.statuses) + self.cached < self.sent:
                await asyncio.sleep(0.02)


@dataclass(slots=True)
class Window:
    """One window: a page and the network below it."""

    page: Page
    network: Network

    async def run(self, script: str, argument: object = None) -> Any:
        """Return the value of an async function's body; `argument` is in scope."""
        return await self.page.evaluate(f"async (argument) => {{ {script} }}", argument)

    async def wait_for(self, expression: str) -> None:
        """Wait until an expression of the page is true. A promise is true at once, whatever its value will be."""
        await self.page.wait_for_function(expression)

    async def wait_for_session(self) -> None:
        """Wait until the page's client has a session."""
        async with asyncio.timeout(_SESSION_S):
            await self.run(_SESSION)

    async def sign_in(self, email: str) -> None:
        """Sign in by password."""
        error = await self.run(
            "const { error } = await supabase.auth.signInWithPassword(argument); return error?.message",
            {"email": email, "password": PASSWORD},
        )
        assert error is None, error


async def open_window(
    context: BrowserContext, site: str, platform: Platform, url: str | None = None
) -> Window:
    """Open the site in a context, with a client for `url` (the platform's own without it)."""
    page = await context.new_page()
    network = await _watch(context, page)
    await page.goto(site)
    await page.wait_for_function("window.isReady")
    await page.evaluate(_OPEN, [url or platform.url, platform.values["ANON_KEY"]])
    return Window(page, network)


async def load_again(window: Window, platform: Platform, address: str | None = None) -> None:
    """Load the page anew (or another address), with a new client."""
    await (window.page.goto(address) if address else window.page.reload())
    await window.page.wait_for_function("window.isReady")
    await window.page.evaluate(_OPEN, [platform.url, platform.values["ANON_KEY"]])


async def user_context(browser: Browser) -> BrowserContext:
    """Return a context of its own: cookies, storage and cache of one user."""
    context = await browser.new_context()
    context.set_default_timeout(45_000)
    return context


async def _watch(context: BrowserContext, page: Page) -> Network:
    network = Network()
    session = await context.new_cdp_session(page)

    def sent(event: dict[str, Any]) -> None:
        network.sent += 1
        network.preflights += event["request"]["method"] == "OPTIONS"

    def received(event: dict[str, Any]) -> None:
        network.statuses.append(event["statusCode"])

    def answered(event: dict[str, Any]) -> None:
        network.cached += event["response"].get("fromDiskCache", False)

    session.on("Network.requestWillBeSent", sent)
    session.on("Network.responseReceivedExtraInfo", received)
    session.on("Network.responseReceived", answered)
    await session.send("Network.enable")
    return network
