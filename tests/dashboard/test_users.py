"""Users: a long list, search, create and invite, changes, sessions, messages, acting as a user, ban and delete."""

import re

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from tests.dashboard.administrators import Administrator, add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

pytestmark = pytest.mark.timeout(240)
_PAYLOAD = "<img src=x onerror=alert(1)><script>alert(2)</script>"
_MANY = """
insert into auth.users (instance_id, id, aud, role, email, email_confirmed_at, raw_app_meta_data, raw_user_meta_data, created_at,
                        updated_at)
select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated', 'authenticated',
       'member' || lpad(number::text, 4, '0') || '@list.example.com', now(), '{"provider": "email", "providers": ["email"]}', '{}',
       timestamptz '2020-01-01' + number * interval '1 minute', now()
from generate_series(1, 450) as number
"""


def _create(owner: Administrator, email: str, **more: object) -> str:
    """Create a confirmed user, and return its id."""
    created = owner.run("users.create", email=email, email_confirm=True, **more)
    return str(created["user"]["id"])


async def _act(page: Page, action: str) -> None:
    """Choose an action of the menu above a user."""
    await page.get_by_role("button", name="More", exact=True).click()
    await page.get_by_role("menuitem", name=action, exact=True).click()


async def test_a_long_list_is_loaded_by_pages(window: DashboardWindow, server: Platform) -> None:
    server.psql(_MANY)
    page = window.page
    await window.open("users?find=list.example.com&order=oldest")
    grid = page.get_by_role("grid", name="Users")
    await grid.get_by_role("row", name="member0001@").focus()

    for number in (100, 200, 300, 400, 450):
        last = grid.get_by_role("row", name=f"member{number:04}@")
        await page.keyboard.press("End")
        await expect(last).to_be_focused()
        if number < 450:
            await expect(grid).to_have_attribute("aria-rowcount", str(min(450, number + 100) + 1))
    await page.keyboard.press("Enter")

    await expect(
        page.get_by_role("dialog", name="member0450@list.example.com").get_by_text("Email confirmed")
    ).to_be_visible()
    assert await grid.get_by_role("row").count() < 100


async def test_a_user_is_created_and_another_one_invited(
    window: DashboardWindow, owner: Administrator
) -> None:
    page = window.page
    await window.open("users")

    await page.get_by_role("button", name="Create a user").click()
    dialog = page.get_by_role("dialog", name="Create a user")
    await dialog.get_by_role("button", name="Create user").click()
    await expect(dialog.get_by_text("Enter an email address or a phone number")).to_be_visible()
    await dialog.get_by_label("Email").fill("ada@example.com")
    await window.check_accessibility()
    await dialog.get_by_role("button", name="Create user").click()
    await expect(page.get_by_role("row", name="ada@example.com")).to_be_visible()
    await page.get_by_role("button", name="Invite a user").click()
    await page.get_by_role("dialog").get_by_label("Email").fill("grace@example.com")
    await page.get_by_role("button", name="Send invitation").click()

    await expect(page.get_by_role("row", name="grace@example.com")).to_contain_text("not confirmed")
    (ada,) = owner.run("users.search", contains="ada@example.com")["rows"]
    assert ada["confirmed_at"] is not None


async def test_a_user_that_exists_already_is_an_error_in_the_dialog(
    window: DashboardWindow, owner: Administrator
) -> None:
    _create(owner, "twice@example.com")
    page = window.page
    await window.open("users")

    await page.get_by_role("button", name="Create a user").click()
    await page.get_by_role("dialog").get_by_label("Email").fill("twice@example.com")
    await page.get_by_role("button", name="Create user").click()

    await expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("email_exists")


async def test_search_state_and_row_have_an_address(window: DashboardWindow, owner: Administrator) -> None:
    shut_out = _create(owner, "shut-out@example.com", user_metadata={"name": "Shut Out"})
    owner.run("users.ban", id=shut_out, duration="24h")
    page = window.page
    await window.open("users")

    await page.get_by_role("searchbox", name="Search users").fill("shut-out")
    await page.get_by_role("button", name=re.compile("State")).click()
    await page.get_by_role("option", name="Banned").click()
    await page.get_by_role("row", name="shut-out@example.com").click()
    await expect(page).to_have_url(re.compile(rf"/_/users/{shut_out}\?.*state=banned"))
    await page.reload()
    await expect(page.get_by_role("dialog", name="shut-out@example.com")).to_be_visible()
    await page.keyboard.press("Escape")

    await expect(page.get_by_role("searchbox", name="Search users")).to_have_value("shut-out")
    await page.get_by_role("searchbox", name="Search users").fill("nobody has this name")
    await expect(page.get_by_role("heading", name="No user matches")).to_be_visible()
    await page.get_by_role("button", name="Clear the search").click()
    await expect(page.get_by_role("grid", name="Users")).to_be_visible()


async def test_metadata_are_edited_as_json_and_undone(window: DashboardWindow, owner: Administrator) -> None:
    user = _create(owner, "metadata@example.com", user_metadata={"plan": "free", "old": 1})
    page = window.page
    await window.open(f"users/{user}?tab=metadata")

    editor = page.get_by_role("textbox", name="User metadata")
    await editor.fill('{"plan": "paid", "seats": [1, 2]')
    await expect(page.get_by_text("This is not a JSON object")).to_be_visible()
    await editor.fill('{"plan": "paid", "seats": [1, 2]}')
    await page.get_by_role("button", name="Save metadata: User metadata").click()
    await expect(page.get_by_text("The metadata are saved")).to_be_visible()
    saved = owner.run("users.read", id=user)["user"]["user_metadata"]
    await window.screenshot("users-metadata")
    await page.get_by_role("button", name="Undo").click()

    await expect(editor).to_contain_text('"old": 1')
    assert {name: saved[name] for name in saved if name in ("plan", "seats", "old")} == {
        "plan": "paid",
        "seats": [1, 2],
    }
    await window.check_accessibility()


async def test_a_session_is_revoked(window: DashboardWindow, server: Platform, owner: Administrator) -> None:
    user = _create(owner, "session@example.com", password="a long enough password")
    _sign_in(server, "session@example.com", "Phone of Ada")
    _sign_in(server, "session@example.com", _PAYLOAD)
    page = window.page
    await window.open(f"users/{user}?tab=access")
    await page.get_by_text(_PAYLOAD).wait_for()
    await window.check_accessibility()
    await window.screenshot("users-access")
    await window.check_narrow()

    await page.get_by_role("button", name="Revoke: Phone of Ada").click()

    await expect(page.get_by_text("Phone of Ada")).to_have_count(0)
    agents = [session["user_agent"] for session in owner.run("users.read", id=user)["user"]["sessions"]]
    assert agents == [_PAYLOAD]


async def test_a_message_is_sent(window: DashboardWindow, server: Platform, owner: Administrator) -> None:
    user = _create(owner, "forgot@example.com")
    page = window.page
    await window.open(f"users/{user}")

    await page.get_by_role("button", name="Send", exact=True).click()
    await expect(page.get_by_role("menuitem", name="Code by text message")).to_be_disabled()
    await page.get_by_role("menuitem", name="Link to reset the password").click()

    await expect(page.get_by_text("Sent", exact=True)).to_be_visible()
    assert owner.run("mail.caught", query="to:forgot@example.com")["matches"] == 1


async def test_acting_as_a_user_warns_and_is_audited(
    window: DashboardWindow, server: Platform, owner: Administrator
) -> None:
    user = _create(owner, "acted@example.com")
    page = window.page
    await window.open(f"users/{user}")

    await page.get_by_role("button", name="Act as user").click()
    dialog = page.get_by_role("dialog", name="Act as user: acted@example.com")
    await expect(dialog.get_by_text("Both audit logs record that you took it")).to_be_visible()
    await window.check_accessibility()
    await dialog.get_by_role("button", name="Make a token").click()
    token = await dialog.get_by_role("region", name="Access token").inner_text()
    await dialog.get_by_role("button", name="Close").last.click()
    await page.get_by_role("tab", name="Audit").click()

    await expect(page.get_by_role("tabpanel")).to_contain_text(owner.email)
    answer = httpx.get(
        f"{server.url}/auth/v1/user",
        headers={"apikey": server.values["ANON_KEY"], "authorization": f"Bearer {token.strip()}"},
        timeout=60,
    )
    assert answer.json()["email"] == "acted@example.com"


async def test_a_user_is_banned_and_the_ban_ended(window: DashboardWindow, owner: Administrator) -> None:
    user = _create(owner, "ban@example.com")
    page = window.page
    await window.open(f"users/{user}?find=ban@example.com")

    await _act(page, "Ban")
    await page.get_by_role("button", name="Ban user").click()
    await expect(page.get_by_text("Banned until")).to_be_visible()
    (row,) = owner.run("users.search", id=user)["rows"]
    await _act(page, "End the ban")

    await expect(page.get_by_text("Banned until")).to_have_count(0)
    assert row["banned_until"] is not None
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("row", name="ban@example.com")).not_to_contain_text("banned")


async def test_a_user_is_deleted_after_the_name_was_typed(
    window: DashboardWindow, server: Platform, owner: Administrator
) -> None:
    user = _create(owner, "gone@example.com")
    server.psql(
        "create table notes (id int primary key, author uuid references auth.users on delete cascade);"
        f"insert into notes values (1, '{user}')"
    )
    page = window.page
    await window.open(f"users/{user}?find=gone")

    await _act(page, "Delete user")
    dialog = page.get_by_role("dialog", name="Delete user")
    await expect(dialog.get_by_text("public.notes (author): 1 row deleted too")).to_be_visible()
    await expect(dialog.get_by_role("button", name="Delete user")).to_be_disabled()
    await dialog.get_by_label("Type gone@example.com to confirm").fill("gone@example.com")
    await window.check_accessibility()
    await dialog.get_by_role("button", name="Delete user").click()

    await expect(page.get_by_text("gone@example.com is deleted")).to_be_visible()
    await expect(page.get_by_role("row", name="gone@example.com")).to_have_count(0)
    assert owner.run("users.search", id=user)["rows"] == []


async def test_the_address_of_a_user_is_edited(window: DashboardWindow, owner: Administrator) -> None:
    user = _create(owner, "before@example.com")
    page = window.page
    await window.open(f"users/{user}")

    await page.get_by_role("button", name="Edit", exact=True).click()
    dialog = page.get_by_role("dialog", name="Edit user")
    await expect(dialog.get_by_role("button", name="Save changes")).to_be_disabled()
    await dialog.get_by_label("Email", exact=True).fill("after@example.com")
    await dialog.get_by_text("Confirm the email address").click()
    await dialog.get_by_role("button", name="Save changes").click()

    await expect(page.get_by_role("dialog", name="after@example.com")).to_be_visible()


async def test_names_and_metadata_are_text(window: DashboardWindow, owner: Administrator) -> None:
    user = _create(owner, "payload@example.com", user_metadata={"name": _PAYLOAD, _PAYLOAD: _PAYLOAD})
    page = window.page
    await window.open("users")

    await expect(page.get_by_role("row", name="payload@example.com")).to_contain_text(_PAYLOAD)
    await window.screenshot("users")
    await window.check_accessibility()
    await window.check_narrow()
    await window.open(f"users/{user}")
    await page.get_by_text("Email confirmed").wait_for()
    await window.screenshot("users-detail")
    await window.check_accessibility()
    await window.check_narrow()


async def test_a_reader_sees_users_and_no_action(
    browser: Browser, server: Platform, owner: Administrator
) -> None:
    user = _create(owner, "seen@example.com")
    async with open_window(browser, server, add_administrator(server, "reader")) as window:
        page = window.page
        await window.open(f"users/{user}")
        await page.get_by_text("Email confirmed").wait_for()

        await expect(page.get_by_role("button", name="Create a user", include_hidden=True)).to_have_count(0)
        await expect(page.get_by_role("button", name="Edit", exact=True)).to_have_count(0)


def _sign_in(server: Platform, email: str, agent: str) -> None:
    answer = httpx.post(
        f"{server.url}/auth/v1/token?grant_type=password",
        json={"email": email, "password": "a long enough password"},
        headers={"apikey": server.values["ANON_KEY"], "user-agent": agent},
        timeout=60,
    )
    assert answer.status_code == 200, answer.text
