"""One platform, one site and one browser for the whole folder."""

import json
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, async_playwright

from tests.browser.program import FLAGS, require_chromium
from tests.browser.site import bundle, site
from tests.browser.windows import PASSWORD, Window, open_window, user_context
from tests.conformance import confirming
from tests.platform import Platform, platform

HERE = Path(__file__).parent


@pytest.fixture(scope="package")
def chromium_program() -> str:
    """Path of the browser; the tests are skipped without one, or fail with BROWSER=required."""
    return require_chromium()


@pytest.fixture(scope="package")
def origin(chromium_program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Origin of a running web site, which is not the platform's."""
    with site(bundle(tmp_path_factory.mktemp("site"))) as address:
        yield address


@pytest.fixture(scope="package")
def server(origin: str) -> Iterator[Platform]:
    """A platform that confirms addresses and sends users back to the site, with a provider to sign in at."""
    with confirming.provider() as provider:
        settings = {
            **confirming.settings(provider),
            "HEADWATER_AUTH_SITE_URL": origin,
            "HEADWATER_AUTH_ADDITIONAL_REDIRECT_URLS": f"{origin}/**",
        }
        with platform(environment=settings) as running:
            done = running.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(HERE / "schema.sql"))
            assert done.returncode == 0, done.stderr
            running.wait_for_catalog("todos")
            yield running


@pytest.fixture(scope="package")
async def browser(chromium_program: str) -> AsyncIterator[Browser]:
    """A running browser."""
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=chromium_program, args=list(FLAGS))
        yield running
        await running.close()


@pytest.fixture
async def window(browser: Browser, origin: str, server: Platform) -> AsyncIterator[Window]:
    """A window of an anonymous user."""
    context = await user_context(browser)
    yield await open_window(context, origin, server)
    await context.close()


@pytest.fixture
async def other_window(browser: Browser, origin: str, server: Platform) -> AsyncIterator[Window]:
    """A window in another user's browser."""
    context = await user_context(browser)
    yield await open_window(context, origin, server)
    await context.close()


@pytest.fixture
def new_user(server: Platform) -> Callable[[], str]:
    """Make users with a confirmed address and PASSWORD; returns the address."""
    key = server.values["SERVICE_ROLE_KEY"]

    def make() -> str:
        email = f"{uuid.uuid4().hex[:12]}@example.com"
        answer = httpx.post(
            f"{server.url}/auth/v1/admin/users",
            headers={"apikey": key, "authorization": f"Bearer {key}"},
            content=json.dumps({"email": email, "password": PASSWORD, "email_confirm": True}),
        )
        assert answer.status_code == 200, answer.text
        return email

    return make
