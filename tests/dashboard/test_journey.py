"""The first five minutes of a new user: from the link of the first start to a user of an app who sees only his rows.

Everything is done in the dashboard, as somebody does it who has read nothing; the test counts clicks and fields.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, Locator, expect

from tests.dashboard.administrators import PASSWORD
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform, free_port, headwater, state_of

pytestmark = pytest.mark.timeout(240)

MOST_CLICKS = 32
"""Clicks of the whole way; more of them mean that a page became harder to use."""
MOST_FIELDS = 9
"""Fields that are typed into."""


@pytest.fixture(scope="module")
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


@dataclass
class CountingUser:
    """Somebody with a mouse and a keyboard: what he does is counted by step."""

    window: DashboardWindow
    step: str = ""
    clicks: dict[str, int] = field(default_factory=dict)
    fields: dict[str, int] = field(default_factory=dict)

    async def begin(self, step: str) -> None:
        """Name what is done next; with SCREENSHOTS set, keep a picture of where he stands."""
        if self.step and os.environ.get("SCREENSHOTS"):
            await self.window.screenshot(f"journey-{len(self.clicks)}")
        self.step = step
        self.clicks[step], self.fields[step] = 0, 0

    async def click(self, target: Locator) -> None:
        """Click once."""
        self.clicks[self.step] += 1
        await target.click()

    async def press(self, name: str, role: str = "button") -> None:
        """Click what has this name."""
        await self.click(self.window.page.get_by_role(role, name=name, exact=True).last)  # type: ignore[arg-type]  # a role is a plain text here

    async def type(self, target: Locator, text: str) -> None:
        """Fill a field."""
        self.fields[self.step] += 1
        await target.fill(text)

    def report(self) -> str:
        """Return the table of steps."""
        lines = [f"{'step':<60} clicks fields"]
        lines += [f"{step:<60} {self.clicks[step]:>6} {self.fields[step]:>6}" for step in self.clicks]
        return "\n".join(
            [*lines, f"{'all':<60} {sum(self.clicks.values()):>6} {sum(self.fields.values()):>6}"]
        )


async def test_from_the_first_link_to_a_user_who_sees_only_his_rows(
    browser: Browser, first_start: tuple[Platform, str], capsys: pytest.CaptureFixture[str]
) -> None:
    server, link = first_start
    async with open_window(browser, server, None) as window:
        user = CountingUser(window)
        await _sign_in(user, link)
        await _create_a_user(user, "ada@example.com")
        await _create_a_user(user, "grace@example.com")
        await _create_a_table(user, server)
        await _add_rows(user)
        await _see_why_anon_sees_nothing(user)
        await _add_policies(user)
        await _view_as_ada(user)
        await user.begin("end")
        user.clicks.pop("end")

    with capsys.disabled():
        print(f"\n{user.report()}")
    assert _rows_over_rest(server, "ada@example.com") == ["Ada's note"]
    assert _rows_over_rest(server, "grace@example.com") == ["Grace's note"]
    assert sum(user.clicks.values()) <= MOST_CLICKS
    assert sum(user.fields.values()) <= MOST_FIELDS


async def _sign_in(user: CountingUser, link: str) -> None:
    page = user.window.page
    await user.begin("open the link of the first start, set a password")
    await page.goto(link)
    await user.type(page.get_by_label("New password"), PASSWORD)
    await user.press("Set the password")
    await page.get_by_role("heading", level=1, name="Home").wait_for()


async def _create_a_user(user: CountingUser, email: str) -> None:
    page = user.window.page
    await user.begin(f"create the user {email}")
    if await page.get_by_role("heading", level=1, name="Users").count() == 0:
        await user.press("Users", "link")
    await user.press("Create a user")
    dialog = page.get_by_role("dialog")
    await user.type(dialog.get_by_label("Email"), email)
    await user.type(dialog.get_by_label("Password"), PASSWORD)
    await user.click(dialog.get_by_role("button", name="Create user"))
    await expect(page.get_by_role("grid", name="Users").get_by_text(email)).to_be_visible()


async def _create_a_table(user: CountingUser, server: Platform) -> None:
    page = user.window.page
    await user.begin("create a table, look at its SQL, find its migration")
    await user.press("Tables", "link")
    await user.press("Create table")
    dialog = page.get_by_role("dialog", name="Create a table")
    await user.type(dialog.get_by_label("Name", exact=True), "notes")
    await user.press("Add a column for the owner")
    await user.press("Add column")
    await user.type(dialog.get_by_label("Column name").last, "body")
    await user.press("Review SQL")
    await expect(dialog.get_by_role("region", name="SQL of the migration")).to_contain_text(
        'references "auth"."users"'
    )
    await user.press("Create table")
    await page.get_by_role("heading", level=1, name="notes").wait_for()
    [migration] = (server.data.parent / "supabase" / "migrations").iterdir()
    await expect(page.get_by_text(migration.name)).to_be_visible()
    assert "enable row level security" in migration.read_text()


async def _add_rows(user: CountingUser) -> None:
    page = user.window.page
    for name in ("Ada", "Grace"):
        await user.begin(f"insert a row of {name}")
        await user.press("Insert row")
        dialog = page.get_by_role("dialog", name="Insert into notes")
        await user.press("Choose a row")
        await user.click(
            page.get_by_role("dialog", name="Choose a row of users").get_by_text(
                f"{name.lower()}@example.com"
            )
        )
        await user.type(dialog.get_by_label("body"), f"{name}'s note")
        await user.click(dialog.get_by_role("button", name="Insert row"))
        await expect(page.get_by_role("gridcell", name=f"{name}'s note")).to_be_visible()


async def _see_why_anon_sees_nothing(user: CountingUser) -> None:
    page = user.window.page
    await user.begin("view as anon, ask why the rows are hidden")
    await user.click(page.get_by_role("button", name="View as"))
    await user.press("anon (no token)", "menuitem")
    await expect(page.get_by_role("heading", name="anon sees no rows here")).to_be_visible()
    await user.press("Why are rows missing?")
    dialog = page.get_by_role("dialog")
    await user.click(dialog.get_by_role("button", name="hidden").first)
    await expect(dialog.get_by_text("No policy applies to this caller and command.")).to_be_visible()


async def _add_policies(user: CountingUser) -> None:
    page = user.window.page
    await user.begin("add the policies of a template")
    await user.press("Policies of this table", "link")
    await user.press("From a template")
    await user.press("Show the SQL")
    dialog = page.get_by_role("dialog", name="Add the policy")
    await user.click(dialog.get_by_role("button", name="Apply and save"))
    await expect(page.get_by_text("Owners delete their rows", exact=True).first).to_be_visible()


async def _view_as_ada(user: CountingUser) -> None:
    page = user.window.page
    await user.begin("view the rows as Ada")
    await user.press("Rows of this table", "link")
    await user.click(page.get_by_role("button", name="View as"))
    await user.press("a user…", "menuitem")
    await user.click(page.get_by_role("dialog").get_by_text("ada@example.com"))
    await expect(page.get_by_role("gridcell", name="Ada's note")).to_be_visible()
    await expect(page.get_by_role("gridcell", name="Grace's note")).to_have_count(0)


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
