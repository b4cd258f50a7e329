"""An application of Expo for the web: the session is kept in AsyncStorage over a reload, a chat's messages arrive, a file is uploaded.

`expo_app` is built by Metro with React Native for the web. Its packages take 400 MB and the build a minute, so this runs in `make check-all`.
"""

import functools
import http.server
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, expect

from tests.browser.windows import PASSWORD
from tests.node_packages import install_packages
from tests.platform import Platform

APP = Path(__file__).parent / "expo_app"
_BUILD_S = 400
_SHOWN_MS = 60_000
pytestmark = [pytest.mark.node, pytest.mark.process_group("browser"), pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def app(server: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The application, exported for the platform and served."""
    install_packages(APP)
    target = tmp_path_factory.mktemp("expo")
    built = subprocess.run(
        [
            str(APP / "node_modules" / ".bin" / "expo"),
            "export",
            "-p",
            "web",
            "--clear",
            "--output-dir",
            str(target),
        ],
        cwd=APP,
        env={
            **os.environ,
            "CI": "1",
            "EXPO_NO_TELEMETRY": "1",
            "EXPO_PUBLIC_SUPABASE_URL": server.url,
            "EXPO_PUBLIC_SUPABASE_KEY": server.values["PUBLISHABLE_KEY"],
        },
        capture_output=True,
        text=True,
        timeout=_BUILD_S,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    handler = functools.partial(_Quiet, directory=str(target))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        serving.daemon_threads = True
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Be quiet."""


async def test_a_user_signs_in_reloads_chats_and_uploads_a_file(
    browser: Browser, app: str, server: Platform, new_user: Callable[[], str]
) -> None:
    context = await browser.new_context()
    page, email = await context.new_page(), new_user()
    await page.goto(app)
    await page.get_by_label("Email").fill(email)
    await page.get_by_label("Password").fill("wrong")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_text("Invalid login credentials")).to_be_visible(timeout=_SHOWN_MS)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_text(f"Signed in as {email}")).to_be_visible(timeout=_SHOWN_MS)

    await page.reload()
    await expect(page.get_by_text(f"Signed in as {email}")).to_be_visible(timeout=_SHOWN_MS)
    await expect(page.get_by_text("Channel: SUBSCRIBED")).to_be_visible(timeout=_SHOWN_MS)
    await page.get_by_label("Draft").fill("hello from here")
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_text("Message: hello from here")).to_be_visible(timeout=_SHOWN_MS)
    server.psql(
        "insert into public.news (room, title) values ('other', 'unseen'), ('expo', 'hello from there')"
    )
    await expect(page.get_by_text("Message: hello from there")).to_be_visible(timeout=_SHOWN_MS)
    await expect(page.get_by_text("Message:")).to_have_count(2)

    async with page.expect_file_chooser() as chosen:
        await page.get_by_role("button", name="Attach").click()
    await (await chosen.value).set_files({"name": "note.txt", "mimeType": "text/plain", "buffer": b"a note"})
    shown = page.get_by_text("/note.txt")
    await expect(shown).to_be_visible(timeout=_SHOWN_MS)
    path = (await shown.inner_text()).removeprefix("Uploaded: ")
    key = server.values["SERVICE_ROLE_KEY"]
    stored = httpx.get(
        f"{server.url}/storage/v1/object/authenticated/pictures/{path}",
        headers={"apikey": key, "authorization": f"Bearer {key}"},
    )
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_label("Email")).to_be_visible(timeout=_SHOWN_MS)
    await page.reload()
    await expect(page.get_by_label("Email")).to_be_visible(timeout=_SHOWN_MS)
    await context.close()

    assert (stored.status_code, stored.text) == (200, "a note")
    assert stored.headers["content-type"].startswith("text/plain")
