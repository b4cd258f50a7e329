"""The shell: signing in, the frame of all pages, its keys, themes, narrow screens, and what protects it."""

import pytest
from playwright.async_api import Browser, expect

from tests.dashboard.administrators import PASSWORD, Administrator, one_time_secret
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

pytestmark = pytest.mark.timeout(240)


async def test_a_link_signs_in_once_and_asks_for_a_password(signed_out: DashboardWindow, server: Platform) -> None:
    page = signed_out.page
    secret = one_time_secret(server, "admin", "add", "first@example.com")

    await page.goto(f"{server.url}/_/sign-in#{secret}")
    await page.get_by_role("heading", name="Choose a password").wait_for()
    assert secret not in page.url
    await page.get_by_label("New password").fill(PASSWORD)
    await page.get_by_role("button", name="Set the password").click()
    await page.get_by_role("navigation", name="Pages").wait_for()
    await page.context.clear_cookies()
    await page.goto(f"{server.url}/_/sign-in#{secret}")

    await expect(page.get_by_role("alert")).to_contain_text("This link was used")


async def test_a_password_signs_in_and_a_wrong_one_is_explained(
    signed_out: DashboardWindow, owner: Administrator
) -> None:
    page = signed_out.page
    await signed_out.open()
    await signed_out.check_accessibility()
    await signed_out.screenshot("sign-in")

    await page.get_by_label("Email").fill(owner.email)
    await page.get_by_label("Password", exact=True).fill("a wrong passphrase")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("The address or the password is wrong")
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.keyboard.press("Enter")

    await page.get_by_role("navigation", name="Pages").wait_for()


async def test_components_are_accessible_and_fit(window: DashboardWindow) -> None:
    await window.open("components")
    await window.page.locator(".cm-content").wait_for()

    await window.screenshot("components")
    await window.check_accessibility()
    await window.check_narrow()
