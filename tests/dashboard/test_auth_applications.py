"""Auth settings: applications of the OAuth server, and identity providers of single sign-on."""

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.dashboard.administrators import Administrator, add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform
from tests.schemas.rsa_key import RSA_KEY
from tests.workers.auth.federation.saml.idp import Idp

pytestmark = pytest.mark.timeout(300)
_PAYLOAD = "<img src=x onerror=console.error(1)>"


@pytest.fixture
def oauth_server(owner: Administrator) -> None:
    """The OAuth server is on."""
    _change(
        owner, {"auth.oauth_server.enabled": True, "auth.oauth_server.authorization_url_path": "/consent"}
    )


def _change(owner: Administrator, values: dict[str, object]) -> None:
    version = owner.run("settings.list", prefix="auth.site_url")["version"]
    owner.run("settings.change", version=version, values=values)


def _row(page: Page, grid: str, text: str) -> Locator:
    return page.get_by_role("grid", name=grid).get_by_role("row").filter(has_text=text)


async def test_the_oauth_server_is_switched_on_and_an_application_registered(
    window: DashboardWindow, server: Platform, owner: Administrator
) -> None:
    page = window.page
    await window.open("auth/applications")
    await expect(page.get_by_role("heading", name="The OAuth server is off")).to_be_visible()
    await window.check_accessibility()
    await page.get_by_text("Enabled: Off").click()
    await expect(page.get_by_role("heading", name="No applications yet")).to_be_visible()
    await expect(page.get_by_text("/auth/v1/.well-known/openid-configuration")).to_be_visible()

    await page.get_by_role("button", name="Register an application").click()
    dialog = page.get_by_role("dialog", name="Register an application")
    add = dialog.get_by_role("button", name="Register an application")
    await dialog.get_by_label("Name").fill("Shop")
    await dialog.get_by_label("Redirect addresses").fill("shop.example/back")
    await expect(
        dialog.get_by_text("This is not an address with a scheme: shop.example/back")
    ).to_be_visible()
    await expect(add).to_be_disabled()
    await dialog.get_by_label("Redirect addresses").fill("javascript:alert(1)")
    await add.click()
    await expect(dialog.get_by_role("alert")).to_be_visible()
    await window.check_accessibility()
    await dialog.get_by_label("Redirect addresses").fill(
        "https://shop.example/back\nhttps://shop.example/two"
    )
    await window.screenshot("auth-application-new")
    await add.click()
    made = page.get_by_role("dialog", name="Shop")
    await expect(made.get_by_text("it is not shown again")).to_be_visible()
    secret = await made.get_by_role("region", name="Client secret").text_content()
    await window.check_accessibility()
    await made.get_by_role("button", name="Close").click()

    [client] = owner.run("oauth_clients.list")
    assert client["redirect_uris"] == ["https://shop.example/back", "https://shop.example/two"]
    await expect(_row(page, "Applications", "Shop")).to_contain_text(client["client_id"])
    assert secret
    assert secret not in await page.content()
    await window.screenshot("auth-applications")
    await window.check_accessibility()
    await window.check_narrow()


async def test_an_application_is_changed_renewed_and_removed(
    window: DashboardWindow, owner: Administrator, oauth_server: None
) -> None:
    page = window.page
    made = owner.run("oauth_clients.create", client_name=_PAYLOAD, redirect_uris=["https://x.example/back"])
    await window.open("auth/applications")
    await _row(page, "Applications", _PAYLOAD).focus()
    await page.keyboard.press("Enter")
    panel = page.get_by_role("dialog", name=_PAYLOAD)
    await panel.get_by_text(made["client_id"]).wait_for()
    await window.screenshot("auth-application")
    await window.check_accessibility()
    await panel.get_by_label("Its website").fill("https://x.example")
    await panel.get_by_label("Redirect addresses").fill("https://x.example/other")
    await panel.get_by_role("button", name="Save").click()
    await expect(page.get_by_text(f"{_PAYLOAD} is saved")).to_be_visible()
    await panel.get_by_role("button", name="Replace the secret").click()
    question = page.get_by_role("dialog", name="Replace the secret")
    await question.get_by_role("button", name="Replace the secret").click()
    secret = page.get_by_role("region", name="Client secret")
    await expect(secret).to_be_visible()
    assert (await secret.text_content()) != made["client_secret"]
    await page.get_by_role("dialog").filter(has=secret).get_by_role("button", name="Close").click()
    changed = owner.run("oauth_clients.read", client_id=made["client_id"])
    assert (changed["redirect_uris"], changed["client_uri"]) == (
        ["https://x.example/other"],
        "https://x.example",
    )

    await panel.get_by_role("button", name="Remove the application").click()
    question = page.get_by_role("dialog", name="Remove the application")
    await question.get_by_role("textbox").fill(_PAYLOAD)
    await question.get_by_role("button", name="Remove the application").click()
    await expect(page.get_by_text(f"{_PAYLOAD} is removed")).to_be_visible()
    await expect(_row(page, "Applications", _PAYLOAD)).to_have_count(0)


async def test_an_identity_provider_is_added_changed_and_removed(
    window: DashboardWindow, owner: Administrator
) -> None:
    page, idp = window.page, Idp()
    await window.open("auth/sso")
    await expect(page.get_by_text("Single sign-on is off")).to_be_visible()
    await expect(page.get_by_role("heading", name="No identity providers yet")).to_be_visible()
    await window.check_accessibility()
    _change(owner, {"auth.saml.enabled": True, "auth.saml.private_key": RSA_KEY})
    await page.reload()
    await expect(page.get_by_text("/auth/v1/sso/saml/acs")).to_be_visible()

    await page.get_by_role("button", name="Add an identity provider").click()
    dialog = page.get_by_role("dialog", name="Add an identity provider")
    add = dialog.get_by_role("button", name="Add an identity provider")
    await dialog.get_by_label("Or its metadata as XML").fill("<no metadata/>")
    await add.click()
    await expect(dialog.get_by_role("alert")).to_be_visible()
    await window.check_accessibility()
    await dialog.get_by_label("Or its metadata as XML").fill(idp.metadata())
    await dialog.get_by_label("Domains").fill("example.org\nexample.net")
    await dialog.get_by_label("Resource id").fill(_PAYLOAD)
    await window.screenshot("auth-sso-new")
    await add.click()
    row = _row(page, "Identity providers", idp.entity_id)
    await expect(row).to_contain_text("in use")
    await window.screenshot("auth-sso")
    await window.check_accessibility()
    await window.check_narrow()

    await row.focus()
    await page.keyboard.press("Enter")
    panel = page.get_by_role("dialog", name=idp.entity_id)
    await expect(panel.get_by_text(_PAYLOAD)).to_be_visible()
    await panel.get_by_label("Domains").fill("example.com")
    await panel.get_by_text("Users may sign in through it").click()
    await panel.get_by_role("button", name="Save").click()
    await expect(panel.get_by_text("switched off")).to_be_visible()
    [answer] = owner.run("sso_providers.list")
    assert [domain["domain"] for domain in answer["provider"]["domains"]] == ["example.com"]
    assert answer["provider"]["disabled"] is True
    await window.check_accessibility()

    await panel.get_by_role("button", name="Remove the identity provider").click()
    question = page.get_by_role("dialog", name="Remove the identity provider")
    await question.get_by_role("textbox").fill(idp.entity_id)
    await question.get_by_role("button", name="Remove the identity provider").click()
    await expect(page.get_by_role("heading", name="No identity providers yet")).to_be_visible()


async def test_a_reader_sees_applications_and_providers_without_actions(
    browser: Browser, server: Platform, owner: Administrator, oauth_server: None
) -> None:
    owner.run("oauth_clients.create", client_name="Readable", redirect_uris=["https://r.example/back"])
    async with open_window(browser, server, add_administrator(server, "reader")) as window:
        page = window.page
        await window.open("auth/applications")
        await _row(page, "Applications", "Readable").click()
        panel = page.get_by_role("dialog", name="Readable")
        await panel.get_by_label("Redirect addresses").wait_for()
        await expect(panel.get_by_role("button", name="Save")).to_have_count(0)
        await expect(panel.get_by_role("button", name="Replace the secret")).to_have_count(0)
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("button", name="Register an application")).to_have_count(0)
        await page.get_by_role("tab", name="Single sign-on").click()
        await page.get_by_role("heading", name="Identity providers", exact=True).wait_for()

        await expect(page.get_by_role("button", name="Add an identity provider")).to_have_count(0)
