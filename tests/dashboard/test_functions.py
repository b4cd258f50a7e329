"""The page Functions: written, deployed, called, read and rolled back in the browser; secrets, schedules, a reader's right."""

import pytest
from playwright.async_api import Browser, Page, expect

from tests.dashboard.administrators import Administrator, add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

pytestmark = pytest.mark.timeout(240)

XSS = "<img src=x onerror=console.error('xss')>"
HOSTILE_FILE = "<img src=x onerror=alert(1)>.ts"


def _code(answer: str) -> str:
    return f'Deno.serve(() => {{ console.log("{XSS}"); return Response.json({{ answer: "{answer}" }}); }});\n'


def _deploy(owner: Administrator, name: str, answer: str, **more: object) -> None:
    files = [{"path": "index.ts", "text": _code(answer)}, {"path": HOSTILE_FILE, "text": f"// {XSS}\n"}]
    owner.run("functions.deploy", name=name, files=files, **more)


async def _write(page: Page, code: str) -> None:
    editor = page.get_by_role("textbox", name="Contents of index.ts")
    await editor.click()
    await page.keyboard.press("Control+a")
    await page.keyboard.insert_text(code)


async def test_a_function_is_written_deployed_called_and_rolled_back(
    window: DashboardWindow, owner: Administrator
) -> None:
    page = window.page
    await window.open("functions")
    await page.get_by_role("button", name="New function").click()
    dialog = page.get_by_role("dialog", name="New function")
    await dialog.get_by_label("Name").fill("hello")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("This function is a draft in this browser")).to_be_visible()
    await expect(page.get_by_role("textbox", name="Contents of index.ts")).to_contain_text("Hello")
    await page.get_by_role("button", name="Deploy").click()
    question = page.get_by_role("dialog", name="Deploy hello")
    await expect(question.get_by_text("+Deno.serve")).to_be_visible()
    await question.get_by_role("button", name="Deploy").click()
    await expect(page.get_by_text("Version 1 runs")).to_be_visible()

    await _write(page, _code("second"))
    await expect(page.get_by_text("You have changes that are not deployed.")).to_be_visible()
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("functions-code")
    await page.get_by_role("button", name="Deploy").click()
    await expect(question.get_by_text("Compared with version 1")).to_be_visible()
    await window.check_accessibility()
    await window.screenshot("functions-deploy")
    await question.get_by_role("button", name="Deploy").click()
    await expect(page.get_by_text("Version 2 runs")).to_be_visible()

    await page.get_by_role("tab", name="Run").click()
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Answer").get_by_text('"second"')).to_be_visible()
    await expect(page.get_by_role("region", name="Log lines of this call").get_by_text(XSS)).to_be_visible()
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("functions-run")

    await page.get_by_role("tab", name="Versions").click()
    await page.get_by_role("button", name="Actions for version 1").click()
    await page.get_by_role("menuitem", name="Roll back").click()
    await page.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    await expect(page.get_by_role("row", name="1 running")).to_be_visible()
    await window.check_accessibility()
    assert [
        version["number"] for version in owner.run("functions.versions", name="hello") if version["is_active"]
    ] == [1]


async def test_files_are_added_renamed_and_removed(window: DashboardWindow, owner: Administrator) -> None:
    _deploy(owner, "several", "one")
    page = window.page
    await window.open("functions/several")
    await expect(page.get_by_role("button", name=HOSTILE_FILE, exact=True)).to_be_visible()
    await page.get_by_role("button", name="Add deno.json").click()
    await expect(page.get_by_role("textbox", name="Contents of deno.json")).to_contain_text("imports")
    await page.get_by_role("button", name=f"Actions for {HOSTILE_FILE}").click()
    await page.get_by_role("menuitem", name="Rename").click()
    await page.get_by_role("dialog").get_by_label("Path").fill("lib/util.ts")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("textbox", name="Contents of lib/util.ts")).to_contain_text(XSS)
    await page.reload()
    await page.get_by_role("button", name="Actions for lib/util.ts").click()
    await page.get_by_role("menuitem", name="Delete the file").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete the file").click()
    await expect(page.get_by_role("button", name="lib/util.ts", exact=True)).to_have_count(0)
    await page.get_by_role("button", name="Discard changes").click()
    await page.get_by_role("dialog").get_by_role("button", name="Discard changes").click()

    await expect(page.get_by_role("button", name=HOSTILE_FILE, exact=True)).to_be_visible()


async def test_settings_belong_to_the_next_version(window: DashboardWindow, owner: Administrator) -> None:
    _deploy(owner, "nightly", "one")
    page = window.page
    await window.open("functions/nightly?tab=settings")
    await page.get_by_role("textbox", name="Schedule", exact=True).fill("0 3 * * 1")
    await expect(page.get_by_text("At 03:00 on Monday")).to_be_visible()
    await page.get_by_text("Callers need a key or a token").click()
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("functions-settings")
    await page.get_by_role("button", name="Deploy").click()
    await expect(page.get_by_role("dialog").get_by_text("verify_jwt")).to_be_visible()
    await page.get_by_role("dialog").get_by_role("button", name="Deploy").click()
    await page.get_by_role("button", name="Run on schedule now").click()
    await expect(page.get_by_text("The scheduler calls it now")).to_be_visible()
    await page.get_by_role("tab", name="Logs").click()

    await expect(page.get_by_text(XSS).first).to_be_visible()
    settings = owner.run("functions.files", name="nightly")["settings"]
    assert (settings["schedule"], settings["verify_jwt"]) == ("0 3 * * 1", False)


async def test_a_secret_is_set_and_never_shown(window: DashboardWindow, owner: Administrator) -> None:
    value = "a-value-that-no-answer-holds"
    window.secrets = (*window.secrets, value)
    page = window.page
    await window.open("functions?tab=secrets")
    await page.get_by_role("button", name="Set a secret").click()
    await page.get_by_label("Name").fill("PAYMENT_KEY")
    await page.get_by_label("Value").fill(value)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("row", name="PAYMENT_KEY")).to_be_visible()
    await window.check_accessibility()
    await window.check_narrow()
    await page.get_by_role("button", name="Unset PAYMENT_KEY").click()
    await page.get_by_role("dialog").get_by_role("button", name="Unset").click()

    await expect(page.get_by_role("row", name="PAYMENT_KEY")).to_have_count(0)
    assert owner.run("functions.secrets") == []


async def test_functions_are_listed_and_opened_by_keys(window: DashboardWindow, owner: Administrator) -> None:
    _deploy(owner, "listed", "one", settings={"verify_jwt": False})
    page = window.page
    await window.open("functions")
    row = page.get_by_role("row", name="listed")
    await expect(row).to_contain_text("open to all")
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("functions")
    await row.focus()
    await page.keyboard.press("Enter")

    await expect(page.get_by_role("heading", name="listed")).to_be_visible()


async def test_a_reader_only_reads(browser: Browser, server: Platform, owner: Administrator) -> None:
    _deploy(owner, "read", "one")
    async with open_window(browser, server, add_administrator(server, "reader")) as window:
        await window.open("functions/read")
        await window.page.get_by_role("textbox", name="Contents of index.ts").wait_for()

        await expect(window.page.get_by_role("button", name="Deploy")).to_have_count(0)
        await expect(window.page.get_by_role("button", name="New file")).to_have_count(0)
        await window.page.get_by_role("tab", name="Run").click()
        await expect(window.page.get_by_role("heading", name="Call it from an application")).to_be_visible()
        await expect(window.page.get_by_role("button", name="Run", exact=True)).to_have_count(0)


async def test_a_request_is_kept_with_the_function(
    window: DashboardWindow, server: Platform, owner: Administrator
) -> None:
    (server.data.parent / "supabase").mkdir(exist_ok=True)
    _deploy(owner, "kept", "one")
    page = window.page
    await window.open("functions/kept?tab=run")
    await page.get_by_role("textbox", name="Headers").fill("x-try: 1")
    await page.get_by_role("textbox", name="Body").fill('{"name": "Ada"}')
    await page.get_by_role("button", name="Keep this request").click()
    await page.get_by_role("textbox", name="Name", exact=True).fill("greets Ada")
    await page.keyboard.press("Enter")
    kept = page.get_by_role("group", name="Kept requests")
    await expect(kept.get_by_role("button", name="greets Ada", exact=True)).to_be_visible()
    await window.check_accessibility()
    await window.check_narrow()

    await page.reload()
    await kept.get_by_role("button", name="greets Ada", exact=True).click()
    await expect(page.get_by_role("textbox", name="Headers")).to_have_value("x-try: 1")
    await expect(page.get_by_role("textbox", name="Body")).to_have_value('{"name": "Ada"}')
    await page.get_by_role("button", name="Forget the request greets Ada").click()
    await expect(kept.get_by_role("button", name="greets Ada", exact=True)).to_have_count(0)
