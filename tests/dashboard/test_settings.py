"""Settings: values and their changes, keys after a confirmation, administrators, tokens, one's own account, the audit log."""

import psycopg
import pytest
from playwright.async_api import Browser, expect

from tests.dashboard.administrators import PASSWORD, Administrator, add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

_FORGET = "update headwater.administrator_sessions set confirmed_at = now() - interval '1 hour' where id = %s"
pytestmark = pytest.mark.timeout(240)


async def test_a_setting_is_found_changed_and_reset(window: DashboardWindow, owner: Administrator) -> None:
    page = window.page
    await window.open("settings/values")

    await page.get_by_label("Find a setting").fill("auth.enable_signup")
    await window.screenshot("settings")
    await page.get_by_role("row", name="auth.enable_signup").click()
    panel = page.get_by_role("dialog", name="auth.enable_signup")
    await panel.get_by_text("On", exact=True).click()
    await window.check_accessibility()
    await panel.get_by_role("button", name="Change", exact=True).click()
    await expect(page.get_by_text("auth.enable_signup is changed")).to_be_visible()
    await expect(page.get_by_role("row", name="auth.enable_signup")).to_contain_text("changed here")
    stored = owner.run("settings.list", prefix="auth.enable_signup")["settings"][0]
    await page.get_by_role("row", name="auth.enable_signup").click()
    await panel.get_by_role("button", name="Remove the change").click()

    await expect(page.get_by_role("row", name="auth.enable_signup")).to_contain_text("default")
    assert (stored["source"], stored["value"]) == ("database", False)


async def test_every_part_is_accessible_and_fits(window: DashboardWindow) -> None:
    for part, name in [
        ("values", "Values"), ("keys", "API keys"), ("administrators", "Administrators"), ("account", "Sessions"),
        ("audit", "Audit log"),
    ]:  # fmt: skip
        await window.open(f"settings/{part}")
        await window.page.get_by_role("grid", name=name).get_by_role("row").nth(1).wait_for()
        await window.screenshot(f"settings-{part}")
        await window.check_accessibility()
        await window.check_narrow()
    for part, heading in [("tokens", "No tokens yet"), ("certificate", "No certificate is ordered")]:
        await window.open(f"settings/{part}")
        await window.page.get_by_role("heading", name=heading).wait_for()
        await window.check_accessibility()


async def test_keys_are_shown_after_a_confirmation(browser: Browser, server: Platform) -> None:
    administrator = add_administrator(server, "owner")
    async with open_window(browser, server, administrator) as window:
        window.secrets = ()  # this is where an owner asks for them
        page = window.page
        await window.open("settings/keys")
        _forget_confirmation(server, administrator)
        await page.get_by_role("button", name="Show the keys").click()
        await (
            page.get_by_role("dialog", name="Confirm that it is you").get_by_label("Password").fill(PASSWORD)
        )
        await page.get_by_role("button", name="Confirm", exact=True).click()

        await expect(page.get_by_role("dialog")).to_contain_text(server.values["SECRET_KEY"])


async def test_an_administrator_is_added_and_removed(window: DashboardWindow, server: Platform) -> None:
    page = window.page
    await window.open("settings/administrators")

    await page.get_by_role("button", name="Add an administrator").click()
    await page.get_by_label("Email").fill("grace@example.com")
    await page.get_by_role("dialog").get_by_role("button", name="Add an administrator").click()
    await expect(page.get_by_role("dialog", name="A link for the first sign-in")).to_contain_text(
        f"{server.url}/_/sign-in#"
    )
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="More: grace@example.com").click()
    await page.get_by_role("menuitem", name="Remove", exact=True).click()
    remove = page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True)
    await expect(remove).to_be_disabled()
    await page.get_by_label("Type grace@example.com to confirm").fill("grace@example.com")
    await remove.click()

    await expect(page.get_by_role("row", name="grace@example.com")).to_have_count(0)


async def test_the_address_of_an_administrator_is_changed(
    window: DashboardWindow, server: Platform, owner: Administrator
) -> None:
    page = window.page
    other = add_administrator(server, "developer")
    await window.open("settings/administrators")
    await page.get_by_role("button", name=f"More: {other.email}").click()
    await page.get_by_role("menuitem", name="Change", exact=True).click()
    dialog = page.get_by_role("dialog", name=other.email)
    await dialog.get_by_label("Email").fill(owner.email)
    await dialog.get_by_role("button", name="Change", exact=True).click()
    await expect(dialog.get_by_text(f"There is an administrator {owner.email}")).to_be_visible()
    await window.check_accessibility()
    new = f"new-{other.email}"
    await dialog.get_by_label("Email").fill(new)
    await page.keyboard.press("Enter")

    await expect(page.get_by_role("row", name=new)).to_be_visible()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    assert other.run("account.me")["name"] == new


async def test_a_reader_sees_no_action_that_would_be_refused(browser: Browser, server: Platform) -> None:
    async with open_window(browser, server, add_administrator(server, "reader")) as window:
        page = window.page
        await window.open("settings/administrators")
        await page.get_by_role("grid", name="Administrators").get_by_role("row").nth(1).wait_for()

        await expect(page.get_by_role("button", name="Add an administrator")).to_have_count(0)
        await expect(page.get_by_role("tab", name="Audit log")).to_have_count(0)
        await window.open("settings/values?open=auth.enable_signup")
        await expect(page.get_by_text("Your rights do not include changing it.")).to_be_visible()


def _forget_confirmation(server: Platform, administrator: Administrator) -> None:
    """Make the session of an administrator as old as if the sign-in had been an hour ago."""
    with psycopg.connect(server.login_url("headwater_management")) as connection:
        done = connection.execute(_FORGET, (administrator.run("account.me")["session_id"],))
        assert done.rowcount == 1
