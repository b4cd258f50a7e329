"""Auth settings: values with their sources, changed at once and reset; providers, redirects, templates, test emails."""

import pytest
from playwright.async_api import Browser, Page, expect

from tests.dashboard.administrators import Administrator, add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

pytestmark = pytest.mark.timeout(240)
_PAYLOAD = "<img src=x onerror=alert(1)><script>alert(2)</script>"
_SECRET = "a-secret-of-the-provider-42"


def _setting(owner: Administrator, key: str) -> dict[str, object]:
    """Return the entry of one setting."""
    return dict(owner.run("settings.list", prefix=key)["settings"][0])


def _change(owner: Administrator, **values: object) -> None:
    """Store settings; the names have `__` in the place of dots."""
    version = owner.run("settings.list", prefix="auth.site_url")["version"]
    owner.run(
        "settings.change",
        version=version,
        values={name.replace("__", "."): value for name, value in values.items()},
    )


async def test_a_switch_applies_at_once_and_is_reset(window: DashboardWindow, owner: Administrator) -> None:
    page = window.page
    await window.open("auth/sign-up")
    row = page.get_by_role("listitem").filter(has=page.get_by_text("New users may sign up.", exact=True))
    await expect(row).to_contain_text("default")

    await row.get_by_text("Enable signup: On").click()
    await expect(row).to_contain_text("changed here")
    stored = _setting(owner, "auth.enable_signup")
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("auth-sign-up")
    await row.get_by_role("button", name="Reset auth.enable_signup").click()

    await expect(row).to_contain_text("default")
    assert (stored["source"], stored["value"]) == ("database", False)
    assert _setting(owner, "auth.enable_signup")["value"] is True


async def test_a_limit_is_changed_beside_the_page(window: DashboardWindow, owner: Administrator) -> None:
    page = window.page
    await window.open("auth/limits")

    await page.get_by_role("button", name="Change auth.rate_limit.token_refresh").click()
    panel = page.get_by_role("dialog", name="auth.rate_limit.token_refresh")
    await panel.get_by_label("New value").fill("99")
    await panel.get_by_role("button", name="Change", exact=True).click()
    await expect(page.get_by_text("auth.rate_limit.token_refresh is changed")).to_be_visible()

    await expect(panel).to_have_count(0)
    assert _setting(owner, "auth.rate_limit.token_refresh")["value"] == 99
    await window.check_accessibility()
    await window.check_narrow()


async def test_a_provider_shows_its_callback_and_never_its_secret(
    window: DashboardWindow, server: Platform, owner: Administrator
) -> None:
    window.secrets = (*window.secrets, _SECRET)
    page = window.page
    await window.open("auth")
    await page.get_by_role("row", name="Github").wait_for()
    await window.check_accessibility()
    await window.check_narrow()

    await page.get_by_label("Find a provider").fill("github")
    await page.get_by_role("row", name="Github").click()
    panel = page.get_by_role("dialog", name="Github")
    await expect(panel.get_by_text(f"{server.url}/auth/v1/callback")).to_be_visible()
    await panel.get_by_role("button", name="Change auth.external.github.secret").click()
    secret = page.get_by_role("dialog", name="auth.external.github.secret")
    await secret.get_by_label("New value").fill(_SECRET)
    await secret.get_by_role("button", name="Change", exact=True).click()
    await expect(secret).to_have_count(0)
    await panel.get_by_role("button", name="Change auth.external.github.client_id").click()
    client = page.get_by_role("dialog", name="auth.external.github.client_id")
    await client.get_by_label("New value").fill(_PAYLOAD)
    await client.get_by_role("button", name="Change", exact=True).click()
    await expect(client).to_have_count(0)
    await panel.get_by_text("Enabled: Off").click()

    await expect(panel.get_by_text("enabled", exact=True)).to_be_visible()
    await window.check_accessibility()
    await window.screenshot("auth-provider")
    await page.reload()
    await expect(panel.get_by_text(_PAYLOAD)).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("row", name="Github")).to_contain_text("enabled")


async def test_a_provider_and_the_mail_server_are_set_up_in_one_form_each_and_tested(
    window: DashboardWindow, server: Platform, owner: Administrator
) -> None:
    window.secrets = (*window.secrets, _SECRET)
    page = window.page
    await window.open("auth/emails")
    await page.get_by_role("button", name="Set up the mail server").click()
    form = page.get_by_role("dialog", name="Set up: Mail server")
    await form.get_by_label("Sender name").fill("The project")
    await expect(form.get_by_role("button", name="Test")).to_be_disabled()
    await window.check_accessibility()
    await page.keyboard.press("Enter")
    await expect(form.get_by_role("button", name="Test")).to_be_enabled()
    await form.get_by_role("button", name="Test").click()
    await expect(form.get_by_text(f"A test email is sent to {owner.email}")).to_be_visible()
    await page.keyboard.press("Escape")

    await window.open("auth?provider=keycloak")
    await page.get_by_role("button", name="Set up in one form").click()
    form = page.get_by_role("dialog", name="Set up: Keycloak")
    await form.get_by_label("Client ID").fill("headwater")
    await form.get_by_label("Secret", exact=True).fill(_SECRET)
    await form.get_by_label("URL", exact=True).fill(f"{server.url}/not-a-provider")
    await form.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Saved, and in force").last).to_be_visible()
    await form.get_by_role("button", name="Test").click()
    await expect(form.get_by_text("It cannot be used.")).to_be_visible()
    assert _setting(owner, "auth.external.keycloak.client_id")["value"] == "headwater"
    assert _setting(owner, "auth.email.smtp.sender_name")["value"] == "The project"


async def test_the_list_of_redirects_is_saved(window: DashboardWindow, owner: Administrator) -> None:
    page = window.page
    await window.open("auth/redirects")

    addresses = page.get_by_label("Addresses")
    await addresses.fill("app.example.com")
    await expect(page.get_by_text("This is not an address with a scheme: app.example.com")).to_be_visible()
    await addresses.fill("https://app.example.com/**\nmyapp://callback")
    await window.check_accessibility()
    await window.screenshot("auth-redirects")
    await page.get_by_role("button", name="Save the list").click()
    await expect(page.get_by_text("The list is saved")).to_be_visible()

    assert _setting(owner, "auth.additional_redirect_urls")["value"] == [
        "https://app.example.com/**",
        "myapp://callback",
    ]
    await page.get_by_role("button", name="Reset", exact=True).click()
    await expect(addresses).to_have_value("")


async def test_a_template_is_previewed_saved_tested_and_reset(
    window: DashboardWindow, owner: Administrator
) -> None:
    page = window.page
    await window.open("auth/emails")
    await page.get_by_role("row", name="Reset a password").click()
    dialog = page.get_by_role("dialog", name="Reset a password")
    frame = page.frame_locator("iframe[title='Preview of recovery']")

    await _replace(page, f"<h2>Hello {{{{ .Email }}}}</h2><p>Code {{{{ .Token }}}}</p>{_PAYLOAD}")
    await dialog.get_by_label("Subject").fill("A new password")
    await expect(frame.get_by_role("heading", name="Hello")).to_be_visible()
    await expect(dialog.get_by_role("status").filter(has_text="A new password")).to_be_visible()
    await page.reload()
    await expect(dialog.get_by_label("Subject")).to_have_value("A new password")
    await expect(dialog.get_by_text("Not saved yet")).to_be_visible()
    await dialog.get_by_role("button", name="Save the template").click()
    await expect(page.get_by_text("The template is saved")).to_be_visible()
    await expect(dialog.get_by_text("Not saved yet")).to_have_count(0)
    await window.check_accessibility()
    await window.screenshot("auth-template")
    await dialog.get_by_role("button", name="Send a test email").click()
    await expect(page.get_by_text(f"A test email is sent to {owner.email}")).to_be_visible()
    subjects = [email["subject"] for email in owner.run("mail.caught", query=f"to:{owner.email}")["emails"]]
    await dialog.get_by_role("button", name="Use the built-in one").click()

    await expect(page.get_by_text("The built-in template is used again")).to_be_visible()
    assert sum("A new password" in subject for subject in subjects) == 1
    await expect(dialog.get_by_label("Subject")).not_to_have_value("A new password")


async def test_hooks_and_emails_are_accessible_and_fit(window: DashboardWindow, owner: Administrator) -> None:
    _change(owner, auth__email__smtp__sender_name=_PAYLOAD)
    page = window.page
    for part, text in (("hooks", "Claims of access tokens"), ("emails", _PAYLOAD)):
        await window.open(f"auth/{part}")
        await page.get_by_text(text).wait_for()
        await window.check_accessibility()
        await window.check_narrow()
        await window.screenshot(f"auth-{part}")


async def test_a_reader_sees_values_and_changes_nothing(browser: Browser, server: Platform) -> None:
    async with open_window(browser, server, add_administrator(server, "reader")) as window:
        page = window.page
        await window.open("auth/sign-up")

        await expect(page.get_by_role("switch", name="Enable signup: On", exact=True)).to_be_disabled()
        await window.open("auth/emails?email=recovery")
        await page.frame_locator("iframe").locator("body *").first.wait_for()
        await expect(page.get_by_role("button", name="Save the template")).to_have_count(0)


async def _replace(page: Page, html: str) -> None:
    """Type HTML in the place of the template, as a person does: `fill` makes the browser keep the style of what it replaces."""
    await page.get_by_role("textbox", name="HTML").focus()
    await page.keyboard.press("Control+a")
    await page.keyboard.press("Delete")
    await page.keyboard.insert_text(html)
