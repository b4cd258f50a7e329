"""The first start of a new platform: its link signs the first owner in, and `admin link` does so later."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.dashboard.administrators import PASSWORD
from tests.dashboard.window import open_window
from tests.platform import Platform, free_port, headwater, state_of

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def first_start(built_dashboard: None, chromium_program: str) -> Iterator[tuple[Platform, str]]:
    """A platform whose database did not exist before, and what its start printed."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-test-"))
    folder.chmod(0o711)
    data, port = folder / "data", free_port()
    try:
        started = headwater(
            "start", "--detach", "--data", str(data), "--project", str(folder), "--port", str(port)
        )
        assert started.returncode == 0, started.stderr
        yield Platform(data, port, *state_of(data)), started.stdout
    finally:
        headwater("stop", "--data", str(data))
        shutil.rmtree(folder, ignore_errors=True)


async def test_the_first_start_prints_a_link_that_signs_in(
    browser: Browser, first_start: tuple[Platform, str]
) -> None:
    server, printed = first_start
    [link] = [word for word in printed.split() if "/_/sign-in#" in word]
    files = [path for path in (server.data / "logs").rglob("*") if path.is_file()]
    secret = link.partition("#")[2].encode()

    async with open_window(browser, server, None) as window:
        page = window.page
        await page.goto(link)
        await page.get_by_label("New password").fill(PASSWORD)
        await page.get_by_role("button", name="Set the password").click()
        await page.get_by_role("heading", level=1, name="Home").wait_for()
        await expect(page.get_by_role("button", name="owner@localhost")).to_be_visible()

    assert server.values["STUDIO_URL"] == f"{server.url}/_/"
    assert [path.name for path in [*files, server.data / "state.json"] if secret in path.read_bytes()] == []


def test_a_link_can_be_made_later(first_start: tuple[Platform, str]) -> None:
    server, _ = first_start

    done = server.command("admin", "link")

    assert done.stdout.startswith(f"{server.url}/_/sign-in#")
    assert server.command("admin", "link", "nobody@example.com").returncode == 1
