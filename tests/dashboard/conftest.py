"""What tests of pages share: a built dashboard, one platform and one signed-in owner a module, pages that are watched."""

from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Browser, expect

from tests.browser.conftest import browser as browser
from tests.browser.conftest import chromium_program as chromium_program
from tests.dashboard.administrators import Administrator, add_administrator
from tests.dashboard.build import require_build
from tests.dashboard.window import TIMEOUT_MS, DashboardWindow, open_window
from tests.platform import Platform, platform

expect.set_options(timeout=TIMEOUT_MS)


@pytest.fixture(scope="session")
def built_dashboard() -> None:
    """The dashboard, built of the sources as they are; skipped without npm packages, or failed with BROWSER=required."""
    require_build()


@pytest.fixture(scope="module")
def server(built_dashboard: None, chromium_program: str) -> Iterator[Platform]:
    """A platform for the tests of a module."""
    with platform() as running:
        yield running


@pytest.fixture(scope="module")
def owner(server: Platform) -> Administrator:
    """An owner with a password and a session."""
    return add_administrator(server, "owner")


@pytest.fixture
async def window(browser: Browser, server: Platform, owner: Administrator) -> AsyncIterator[DashboardWindow]:
    """A signed-in owner's window, `window.open("tables")` shows a page. Its faults fail the test when it ends."""
    async with open_window(browser, server, owner) as opened:
        yield opened


@pytest.fixture
async def signed_out(browser: Browser, server: Platform) -> AsyncIterator[DashboardWindow]:
    """A window without a session."""
    async with open_window(browser, server, None) as opened:
        yield opened
