"""Who asks, on the pages that ask as an application."""

from playwright.async_api import Page, expect

from tests.dashboard.administrators import PASSWORD


async def ask_as(page: Page, email: str) -> None:
    """Choose a user as caller; give the password if the dashboard asks for a confirmation."""
    await page.get_by_role("button", name="Ask as").click()
    await page.get_by_role("menuitem", name="a user").click()
    await page.get_by_role("dialog").get_by_text(email).click()
    password = page.get_by_label("Password")
    named = page.get_by_role("button", name=f"Ask as: {email}")
    await password.or_(named).first.wait_for()
    if await password.is_visible():
        await password.fill(PASSWORD)
        await page.keyboard.press("Enter")
    await expect(named).to_be_visible()
