"""The guided path of a new user, step by step: from a link to a user of an application who sees only their rows.

Everything is done in the dashboard, by a user who has read nothing; `tests/dashboard/test_journey.py` and `tests.bench.dashboard` count it.
"""

from playwright.async_api import expect

from tests.dashboard.administrators import PASSWORD
from tests.dashboard.counting_user import CountingUser
from tests.platform import Platform

EMAILS = ("ada@example.com", "grace@example.com")


async def follow_guided_path(user: CountingUser, server: Platform, link: str) -> None:
    """Do all steps. `link`: signs the first owner in."""
    await _sign_in(user, link)
    await _create_users(user)
    await _create_a_table(user, server)
    await _add_rows(user)
    await _see_why_anon_sees_nothing(user)
    await _add_policies(user)
    await _view_as_ada(user)
    await user.keep_picture()


async def _sign_in(user: CountingUser, link: str) -> None:
    page = user.window.page
    await user.begin("open the link of the first start, set a password")
    await page.goto(link)
    await user.type(page.get_by_label("New password"), PASSWORD)
    await user.press("Set the password")
    await page.get_by_role("heading", level=1, name="Home").wait_for()


async def _create_users(user: CountingUser) -> None:
    page = user.window.page
    for email in EMAILS:
        await user.begin(f"create the user {email}")
        if email == EMAILS[0]:
            await user.press("Users", "link")
            await user.press("Create a user")
        dialog = page.get_by_role("dialog")
        await user.type(dialog.get_by_label("Email"), email)
        await user.type(dialog.get_by_label("Password"), PASSWORD)
        action = "Create user" if email == EMAILS[-1] else "Create and add another"
        await user.click(dialog.get_by_role("button", name=action, exact=True))
        await expect(page.get_by_text(f"{email} is created")).to_be_visible()
    await expect(page.get_by_role("grid", name="Users").get_by_role("row")).to_have_count(1 + len(EMAILS))


async def _create_a_table(user: CountingUser, server: Platform) -> None:
    page = user.window.page
    await user.begin("create a table, look at its SQL, find its migration")
    await user.press("Tables", "link")
    await user.press("Create table")
    dialog = page.get_by_role("dialog", name="Create a table")
    await user.type(dialog.get_by_label("Name", exact=True), "notes")
    await user.press("Add a column for the owner")
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
    names = ("Ada", "Grace")
    for name in names:
        await user.begin(f"insert a row of {name}")
        if name == names[0]:
            await user.press("Insert row")
        dialog = page.get_by_role("dialog", name="Insert into notes")
        await user.press("Choose a row")
        await user.click(
            page.get_by_role("dialog", name="Choose a row of users").get_by_text(
                f"{name.lower()}@example.com"
            )
        )
        await user.type(dialog.get_by_label("body"), f"{name}'s note")
        action = "Insert row" if name == names[-1] else "Insert and add another"
        await user.click(dialog.get_by_role("button", name=action, exact=True))
        await expect(page.get_by_role("gridcell", name=f"{name}'s note", include_hidden=True)).to_be_visible()


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
    await user.press("Add policies from a template", "link")
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
