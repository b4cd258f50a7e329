"""The official clients in a build of Next.js 16: sign-in, a protected page, and that it is closed after the logout.

The page opened once after a logout on a busy machine: the client removes its cookies when POST /logout is answered, so a page that is left before
keeps its session, and the platform has ended none. `next_app` is an application of the usual form: a proxy that renews the session, a page
on the server that reads the claims. `next build` takes 30 s and the packages 350 MB, so this runs in `make check-all`.
"""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.browser.windows import PASSWORD
from tests.node_packages import install_packages
from tests.platform import Platform
from tests.ports import free_port

APP = Path(__file__).parent / "next_app"
_BUILD_S = 300
pytestmark = [pytest.mark.node, pytest.mark.process_group("browser"), pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def site(server: Platform) -> Iterator[str]:
    """The application, built for the platform and served."""
    install_packages(APP)
    program = str(APP / "node_modules" / ".bin" / "next")
    environment = {
        **os.environ,
        "NEXT_PUBLIC_SUPABASE_URL": server.url,
        "NEXT_PUBLIC_SUPABASE_PUBLISHABLE_KEY": server.values["PUBLISHABLE_KEY"],
        "NEXT_TELEMETRY_DISABLED": "1",
    }
    built = subprocess.run(
        [program, "build"],
        cwd=APP,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_BUILD_S,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    port = free_port()
    serving = subprocess.Popen(
        [program, "start", "-p", str(port)],
        cwd=APP,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        while serving.poll() is None:
            try:
                httpx.get(url, timeout=60)
            except httpx.TransportError:
                continue
            break
        yield url
    finally:
        serving.terminate()
        serving.wait(30)


@pytest.fixture
async def signed_in(browser: Browser, site: str, new_user: Callable[[], str]) -> AsyncIterator[Page]:
    """A page that shows what is protected."""
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(site)
    await page.get_by_label("Email").fill(new_user())
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Login").click()
    await expect(page.get_by_text("Signed in as")).to_be_visible(timeout=60_000)
    yield page
    await context.close()


@pytest.mark.parametrize("way", ["address", "link"])
async def test_after_the_logout_the_protected_page_is_closed(signed_in: Page, site: str, way: str) -> None:
    await signed_in.get_by_role("button", name="Logout").click()
    await expect(signed_in.get_by_role("heading", name="Welcome")).to_be_visible(timeout=60_000)
    if way == "address":
        await signed_in.goto(f"{site}/protected")
    else:
        async with signed_in.expect_response("**/protected?_rsc=*") as answered:
            await signed_in.get_by_role("link", name="Protected page").click()
        await (await answered.value).finished()

    await expect(signed_in.get_by_role("heading", name="Welcome")).to_be_visible(timeout=60_000)
    await expect(signed_in.get_by_text("Signed in as")).to_have_count(0)
    assert await signed_in.context.cookies() == []


async def test_a_page_that_is_left_before_the_answer_keeps_its_session(signed_in: Page, site: str) -> None:
    asked, left = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        asked.set()
        await left.wait()
        await route.abort()

    await signed_in.route("**/auth/v1/logout*", hold)
    await signed_in.get_by_role("button", name="Logout").click()
    await asked.wait()
    await signed_in.goto(f"{site}/protected")
    left.set()

    await expect(signed_in.get_by_text("Signed in as")).to_be_visible(timeout=60_000)
