"""A front end of others, unchanged: accounts by magic link, a profile, and pictures in storage, with version 1 of the official client.

`cra-template-supabase` (MIT) is fetched from npm with React 17 and bundled for the platform; its sources are not part of this repository. It has no realtime: that is driven by our own pages and by the example of the outbox.
"""

import struct
import subprocess
import uuid
import zlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.emails import link_for
from tests.browser.site import site
from tests.node_packages import install_packages
from tests.platform import Platform

APP = Path(__file__).parent / "account_app"
_SOURCES = APP / "node_modules" / "cra-template-supabase" / "template" / "src"
_PAGE = b'<!doctype html><meta charset="utf-8"><title>app</title><link rel="icon" href="data:,"><div id="root"></div><script src="/clients.js"></script>'
pytestmark = [pytest.mark.node, pytest.mark.process_group("browser"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def script(server: Platform, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The application as one script, with the address and the key of the platform."""
    install_packages(APP)
    done = server.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(APP / "schema.sql"))
    assert done.returncode == 0, done.stderr
    server.wait_for_catalog("profiles")
    target = tmp_path_factory.mktemp("account") / "app.js"
    values = {"REACT_APP_SUPABASE_URL": server.url, "REACT_APP_SUPABASE_ANON_KEY": server.values["ANON_KEY"]}
    built = subprocess.run(
        [
            APP / "node_modules" / ".bin" / "esbuild", _SOURCES / "index.js", "--bundle", "--loader:.js=jsx", "--jsx=automatic",
            f"--outfile={target}", '--define:process.env.NODE_ENV="production"',
            *(f'--define:process.env.{name}="{value}"' for name, value in values.items()),
        ],
        cwd=APP, env={"NODE_PATH": str(APP / "node_modules"), "PATH": "/usr/local/bin:/usr/bin:/bin"}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    return target.read_bytes()


@pytest.fixture(scope="module")
def app(script: bytes) -> Iterator[str]:
    """Address of the application."""
    with site(script, _PAGE) as address:
        yield address


@pytest.fixture
async def page(browser: Browser, app: str) -> AsyncIterator[Page]:
    """The application in a browser of its own."""
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(app)
    yield page
    await context.close()


def _picture() -> bytes:
    """A PNG of one red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
        + chunk(b"IEND", b"")
    )


async def test_a_user_signs_in_by_a_link_and_keeps_a_profile_with_a_picture(
    page: Page, app: str, server: Platform
) -> None:
    email, name = f"{uuid.uuid4().hex[:12]}@example.com", f"Ada {uuid.uuid4().hex[:6]}"
    texts: list[str] = []
    page.on("dialog", lambda dialog: (texts.append(dialog.message), dialog.accept())[1])

    await page.get_by_placeholder("Your email").fill(email)
    async with page.expect_event("dialog"):
        await page.get_by_text("Send magic link").click()
    assert texts == ["Check your email for the login link!"]
    # The site of the platform is another one of these tests: what its link brings is taken to the application.
    landed = httpx.get(link_for(server, email)).headers["location"]
    await page.goto("about:blank")
    await page.goto(f"{app}/#{urlsplit(landed).fragment}")
    await expect(page.locator("#email")).to_have_value(email)
    await page.locator("#username").fill(name)
    await page.get_by_role("button", name="Update").click()
    await expect(page.get_by_role("button", name="Update")).to_be_enabled()
    await page.locator("#single").set_input_files(
        {"name": "me.png", "mimeType": "image/png", "buffer": _picture()}
    )
    await expect(page.get_by_alt_text("Avatar")).to_be_visible()
    await page.goto("about:blank")
    await page.goto(app)

    await expect(page.locator("#username")).to_have_value(name)
    await expect(page.get_by_alt_text("Avatar")).to_be_visible()
    assert (
        await page.get_by_alt_text("Avatar").evaluate(
            "picture => picture.decode().then(() => picture.naturalWidth)"
        )
        == 1
    )
    await page.get_by_role("button", name="Sign Out").click()
    await expect(page.get_by_placeholder("Your email")).to_be_visible()
    assert len(texts) == 1  # the application shows errors so
