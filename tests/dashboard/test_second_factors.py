"""An administrator's own second factors: set up in the dialogs, used at sign-in, removed. Codes are computed, passkeys are a virtual authenticator's."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pyotp
import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.dashboard.administrators import PASSWORD, Administrator, add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

_AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}
pytestmark = pytest.mark.timeout(300)


async def _sign_in(window: DashboardWindow, administrator: Administrator) -> None:
    """Give address and password on the sign-in page."""
    page = window.page
    await page.goto(f"{window.url}/_/")
    await page.get_by_label("Email").fill(administrator.email)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()


def _row(page: Page, name: str) -> Locator:
    """Return a line of the second factors, by its name."""
    return page.locator(".key-value > div").filter(has=page.get_by_text(name, exact=True))


async def _set_up_app(window: DashboardWindow) -> tuple[pyotp.TOTP, list[str]]:
    """Set up an app in the dialog; return what computes its codes, and the recovery codes."""
    page = window.page
    await window.open("settings/account")
    await page.get_by_role("button", name="Set up an app").click()
    dialog = page.get_by_role("dialog", name="Set up an app")
    secret = (await dialog.locator("code").first.text_content()) or ""
    app = pyotp.TOTP(secret)
    await window.check_accessibility()
    await window.screenshot("settings-app")
    wrong = next(code for number in range(10) if not app.verify(code := f"{number:06d}", valid_window=9))
    await dialog.get_by_label("Code").fill(wrong)
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_text("The code is wrong")).to_be_visible()
    await dialog.get_by_label("Code").fill(app.at(int(time.time())))
    await page.keyboard.press("Enter")
    codes = page.get_by_role("dialog", name="Recovery codes")
    listed = (await codes.get_by_role("region", name="Recovery codes").text_content()) or ""
    await window.check_accessibility()
    await codes.get_by_role("button", name="Close").click()
    await expect(_row(page, "Authenticator app").get_by_text("in use")).to_be_visible()
    return app, listed.split()


async def test_an_app_is_set_up_asked_for_and_removed(browser: Browser, server: Platform) -> None:
    administrator = add_administrator(server, "developer")
    async with open_window(browser, server, administrator) as window:
        page = window.page
        app, codes = await _set_up_app(window)
        await expect(page.get_by_text(f"{len(codes)} recovery codes are left")).to_be_visible()

        async with open_window(browser, server, None) as other:
            await _sign_in(other, administrator)
            await other.page.get_by_role("heading", name="Second factor").wait_for()
            await other.check_accessibility()
            await other.check_narrow()
            # The code of the next step: that of the present one may be used already.
            code = app.at(int(time.time()), counter_offset=1)
            await other.page.get_by_label("Code of your authenticator app").fill(code)
            await other.page.keyboard.press("Enter")
            await other.page.get_by_role("heading", level=1, name="Home").wait_for()

        async with open_window(browser, server, None) as other:
            await _sign_in(other, administrator)
            await other.page.get_by_role("button", name="Use a recovery code").click()
            await other.page.get_by_label("Recovery code").fill("not-a-code")
            await other.page.keyboard.press("Enter")
            await expect(other.page.get_by_role("alert")).to_be_visible()
            await other.page.get_by_label("Recovery code").fill(codes[0])
            await other.page.keyboard.press("Enter")
            await other.page.get_by_role("heading", level=1, name="Home").wait_for()

        await page.reload()
        await expect(page.get_by_text(f"{len(codes) - 1} recovery codes are left")).to_be_visible()
        await page.get_by_role("button", name="Make new recovery codes").click()
        await (
            page.get_by_role("dialog", name="Make new recovery codes")
            .get_by_role("button", name="Make new recovery codes")
            .click()
        )
        renewed = page.get_by_role("dialog", name="Recovery codes")
        await expect(renewed.get_by_role("region", name="Recovery codes")).not_to_contain_text(codes[1])
        await renewed.get_by_role("button", name="Close").click()
        await page.get_by_role("button", name="Remove the app").click()
        await (
            page.get_by_role("dialog", name="Remove the app")
            .get_by_role("button", name="Remove the app")
            .click()
        )
        await expect(_row(page, "Authenticator app").get_by_text("not set up")).to_be_visible()

    async with open_window(browser, server, None) as other:
        await _sign_in(other, administrator)
        await other.page.get_by_role("heading", level=1, name="Home").wait_for()


@asynccontextmanager
async def _with_authenticator(browser: Browser, server: Platform) -> AsyncIterator[DashboardWindow]:
    """A window under the name localhost, as passkeys need one, with an authenticator in it."""
    async with open_window(browser, server, None) as window:
        window.url = f"http://localhost:{server.port}"
        session = await window.page.context.new_cdp_session(window.page)
        await session.send("WebAuthn.enable")
        await session.send("WebAuthn.addVirtualAuthenticator", {"options": _AUTHENTICATOR})
        yield window


async def test_a_passkey_is_added_signs_in_and_is_removed(browser: Browser, server: Platform) -> None:
    administrator = add_administrator(server, "developer")
    async with _with_authenticator(browser, server) as window:
        page = window.page
        await _sign_in(window, administrator)
        await page.get_by_role("heading", level=1, name="Home").wait_for()
        await window.open("settings/account")
        await expect(page.get_by_text("No passkeys yet")).to_be_visible()
        await page.get_by_role("button", name="Add a passkey").click()
        codes = page.get_by_role("dialog", name="Recovery codes")
        await codes.get_by_role("button", name="Close").click()
        await expect(_row(page, "Passkeys").get_by_text("localhost")).to_be_visible()
        await window.screenshot("settings-passkey")
        await window.check_accessibility()
        await window.check_narrow()

        # With the password the passkey is asked for; alone it signs in, too.
        await page.context.clear_cookies()
        await _sign_in(window, administrator)
        await page.get_by_role("button", name="Use a passkey").click()
        await page.get_by_role("heading", level=1, name="Home").wait_for()
        await page.context.clear_cookies()
        await page.goto(f"{window.url}/_/")
        await page.get_by_role("button", name="Sign in with a passkey").click()
        await page.get_by_role("heading", level=1, name="Home").wait_for()

        await window.open("settings/account")
        await _row(page, "Passkeys").get_by_role("button", name="Remove").click()
        question = page.get_by_role("dialog", name="Remove the passkey")
        await question.get_by_role("button", name="Remove the passkey").click()
        await expect(page.get_by_text("No passkeys yet")).to_be_visible()
        await page.context.clear_cookies()
        await _sign_in(window, administrator)
        await page.get_by_role("heading", level=1, name="Home").wait_for()


async def test_an_address_without_a_name_says_why_it_has_no_passkeys(
    browser: Browser, server: Platform
) -> None:
    async with open_window(browser, server, add_administrator(server, "reader")) as window:
        await window.open("settings/account")

        await expect(window.page.get_by_text("Passkeys need a name such as localhost")).to_be_visible()
        await expect(window.page.get_by_role("button", name="Add a passkey")).to_have_count(0)
