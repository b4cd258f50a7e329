"""Mail: caught emails are listed, searched, read without running anything, and deleted."""

import pytest
from playwright.async_api import Browser, expect

from tests.dashboard.administrators import Administrator, add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

pytestmark = pytest.mark.timeout(240)
_PAYLOAD = "<img src=x onerror=alert(1)><script>alert(2)</script>"
_CONTENT = (
    '<h1 style="color: navy">Hello</h1><script>top.alert(3)</script><img src="https://tracker.example.com/x.png">'
    '<a href="{{ .ConfirmationURL }}">Set a new password</a>' + _PAYLOAD
)


def _send(owner: Administrator, email: str) -> None:
    """Have auth send a hostile email."""
    version = owner.run("settings.list", prefix="auth.site_url")["version"]
    template = "auth.email.template.recovery"
    owner.run(
        "settings.change",
        version=version,
        values={f"{template}.subject": f"For you {_PAYLOAD}", f"{template}.content": _CONTENT},
    )
    user = owner.run("users.create", email=email, email_confirm=True)["user"]["id"]
    owner.run("users.send", id=user, message="recovery")


async def test_mail_is_read_without_running_anything(
    window: DashboardWindow, server: Platform, owner: Administrator
) -> None:
    page = window.page
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    await window.open("mail")
    await page.get_by_role("heading", name="No emails yet").wait_for()
    await window.check_accessibility()
    _send(owner, "ada@example.com")

    await page.get_by_role("row", name="ada@example.com").click()
    panel = page.get_by_role("dialog", name=f"For you {_PAYLOAD}")
    frame = page.frame_locator("iframe")
    await expect(frame.get_by_role("heading", name="Hello")).to_be_visible()
    await expect(frame.get_by_role("link", name="Set a new password")).to_be_visible()
    await expect(panel.get_by_text(f"{server.url}/auth/v1/verify").first).to_be_visible()
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("mail-email")
    await panel.get_by_role("tab", name="HTML").click()
    await expect(panel.get_by_role("region", name="HTML")).to_contain_text("<script>top.alert(3)</script>")
    await page.keyboard.press("Escape")

    await expect(page.get_by_role("row", name="ada@example.com")).to_contain_text(_PAYLOAD)
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("mail")
    assert dialogs == []


async def test_mail_is_searched_and_deleted(window: DashboardWindow, owner: Administrator) -> None:
    _send(owner, "grace@example.com")
    _send(owner, "joan@example.com")
    page = window.page
    await window.open("mail")

    await page.get_by_role("searchbox", name="Find an email").fill("to:grace@example.com")
    await expect(page.get_by_text("1 email", exact=True)).to_be_visible()
    await page.get_by_role("row", name="grace@example.com").focus()
    await page.keyboard.press("Space")
    await page.get_by_role("button", name="Delete", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    await expect(page.get_by_role("heading", name="No email matches")).to_be_visible()
    await page.get_by_role("button", name="Clear").click()
    await page.get_by_role("row", name="joan@example.com").wait_for()
    left = owner.run("mail.caught", query="to:grace@example.com")["matches"]
    await page.get_by_role("button", name="Delete all").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete all").click()

    await expect(page.get_by_role("heading", name="No emails yet")).to_be_visible()
    assert (left, owner.run("mail.caught")["matches"]) == (0, 0)


async def test_mail_is_for_developers(browser: Browser, server: Platform) -> None:
    async with open_window(browser, server, add_administrator(server, "reader")) as window:
        await window.open("users")

        await expect(window.page.get_by_role("link", name="Users")).to_be_visible()
        await expect(window.page.get_by_role("link", name="Mail")).to_have_count(0)
