"""The first five minutes of a new user: from the link of the first start to a user of an app who sees only his rows.

Everything is done in the dashboard, as somebody does it who has read nothing; the test counts clicks and fields.
A user with a mouse does it, and one with a keyboard alone.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser

from tests.dashboard.administrators import PASSWORD
from tests.dashboard.counting_user import CountingUser, KeyboardUser
from tests.dashboard.guided_path import follow_guided_path
from tests.dashboard.window import open_window
from tests.platform import Platform, free_port, headwater, state_of

pytestmark = pytest.mark.timeout(240)

MOST_CLICKS = 28
"""Clicks of the whole way; more of them mean that a page became harder to use."""
MOST_FIELDS = 9
"""Fields that are typed into."""


@pytest.fixture
def first_start(built_dashboard: None, chromium_program: str) -> Iterator[tuple[Platform, str]]:
    """A platform of a new project folder, and the link that its start printed."""
    folder = Path(tempfile.mkdtemp(prefix="headwater-test-"))
    folder.chmod(0o711)
    (folder / "supabase").mkdir()
    data, port = folder / "data", free_port()
    try:
        started = headwater(
            "start", "--detach", "--data", str(data), "--project", str(folder), "--port", str(port)
        )
        assert started.returncode == 0, started.stderr
        [link] = [word for word in started.stdout.split() if "/_/sign-in#" in word]
        yield Platform(data, port, *state_of(data)), link
    finally:
        headwater("stop", "--data", str(data))
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("kind", [CountingUser, KeyboardUser])
async def test_from_the_first_link_to_a_user_who_sees_only_his_rows(
    kind: type[CountingUser],
    browser: Browser,
    first_start: tuple[Platform, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    server, link = first_start
    async with open_window(browser, server, None) as window:
        user = kind(window)
        await follow_guided_path(user, server, link)

    with capsys.disabled():
        print(f"\n{user.report()}")
    assert _rows_over_rest(server, "ada@example.com") == ["Ada's note"]
    assert _rows_over_rest(server, "grace@example.com") == ["Grace's note"]
    assert user.all_clicks <= MOST_CLICKS
    assert user.all_fields <= MOST_FIELDS


def _rows_over_rest(server: Platform, email: str) -> list[str]:
    """Sign in as a user of the app, and return the texts that he reads over REST."""
    key = {"apikey": server.values["PUBLISHABLE_KEY"]}
    signed_in = httpx.post(
        f"{server.url}/auth/v1/token?grant_type=password",
        json={"email": email, "password": PASSWORD},
        headers=key,
        timeout=60,
    )
    assert signed_in.status_code == 200, signed_in.text
    authorization = {"authorization": f"Bearer {signed_in.json()['access_token']}"}
    rows = httpx.get(f"{server.url}/rest/v1/notes?select=body", headers=key | authorization, timeout=60)
    assert rows.status_code == 200, rows.text
    return [row["body"] for row in rows.json()]
