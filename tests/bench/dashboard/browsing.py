"""A window that is measured: a new browser context with an empty cache, and nothing of the tests that reads its answers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, async_playwright

from tests.browser.program import FLAGS, PROGRAM
from tests.dashboard.administrators import Administrator
from tests.dashboard.window import TIMEOUT_MS, DashboardWindow, sign_in
from tests.platform import Platform

WIDE = {"width": 1440, "height": 900}
NARROW = {"width": 390, "height": 844}


@asynccontextmanager
async def running_browser() -> AsyncIterator[Browser]:
    """Start Chromium. Raises: SystemExit where none is installed."""
    if PROGRAM is None:
        raise SystemExit("no Chromium is installed (on Debian: apt install chromium)")
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=PROGRAM, args=list(FLAGS))
        try:
            yield running
        finally:
            await running.close()


@asynccontextmanager
async def plain_window(
    browser: Browser, server: Platform, owner: Administrator | None, **options: Any
) -> AsyncIterator[DashboardWindow]:
    """Open a window with the session of the owner, or none."""
    context = await browser.new_context(
        **({"viewport": WIDE, "locale": "en-GB", "timezone_id": "UTC"} | options)
    )
    context.set_default_timeout(TIMEOUT_MS)
    if owner is not None:
        await sign_in(context, server, owner)
    try:
        yield DashboardWindow(await context.new_page(), server.url, ())
    finally:
        await context.close()
