"""Branches: made on the page, compared, deleted by their name; started ones with their address; what a reader sees."""

import json
import re
import time

import pytest
from playwright.async_api import Browser, expect

from broker.processes.branch_requests import FOLDER, BranchWork, read_work, write_work
from tests.dashboard.administrators import Administrator, add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

_HOSTILE = "<img src=x onerror=console.error(1)>"
pytestmark = pytest.mark.timeout(300)


async def test_a_branch_is_made_compared_and_deleted_by_its_name(
    window: DashboardWindow, server: Platform, owner: Administrator
) -> None:
    page = window.page
    server.psql("create table public.posts (id int primary key); grant select on public.posts to anon")
    await window.open("branches")
    await expect(page.get_by_text("No branches yet")).to_be_visible()
    await page.get_by_role("button", name="New branch").click()
    form = page.get_by_role("dialog", name="New branch")
    await form.get_by_label("Name").fill("Main branch")
    await expect(form.get_by_text("not main, master or git")).to_be_visible()
    await expect(form.get_by_role("button", name="Make the branch")).to_be_disabled()
    await form.get_by_label("Name").fill("try-this")
    await expect(form.get_by_label("Database of a past moment")).to_be_disabled()
    await form.get_by_role("button", name="Remove it after").click()
    await page.get_by_role("option", name="7 days").click()
    await window.check_accessibility()
    await form.get_by_role("button", name="Make the branch").click()
    row = page.get_by_role("grid", name="All branches").get_by_role("row").filter(has_text="try-this")
    await expect(row).to_contain_text("stopped")
    await expect(row).to_contain_text("removed at")
    await expect(page.get_by_text("The branch try-this is made")).to_be_hidden()
    await window.screenshot("branches")
    record = json.loads((server.data / "branches" / "try-this" / "branch.json").read_text())
    assert round(record["remove_at"] - record["created_at"]) == 7 * 86400

    # Of the platform: no change of the branch, in which anon has more now.
    server.psql("alter table public.posts add column title text; revoke select on public.posts from anon")
    await row.click()
    panel = page.get_by_role("dialog", name="Branch try-this")
    await panel.get_by_role("button", name="Show the difference").click()
    await expect(panel.get_by_text("The branch changed nothing of the schema")).to_be_visible()
    await panel.get_by_role("button", name="Compare access").click()
    await expect(panel.get_by_role("region", name="Who gains, who loses access")).to_contain_text(
        "anon gains select"
    )
    await expect(panel.get_by_text("Clients without a token")).to_be_visible()
    await window.screenshot("branches-open")
    await window.check_accessibility()
    await window.check_narrow()

    await panel.get_by_role("button", name="Delete the branch").click()
    question = page.get_by_role("dialog", name="Delete the branch")
    await question.get_by_label("Type try-this to confirm").fill("try-this")
    await question.get_by_role("button", name="Delete the branch").click()
    await expect(page.get_by_text("The branch try-this is deleted")).to_be_visible()
    await expect(page.get_by_text("No branches yet")).to_be_visible()
    assert not (server.data / "branches" / "try-this").exists()


async def test_work_and_branches_are_shown_as_text_and_a_reader_changes_nothing(
    window: DashboardWindow, browser: Browser, server: Platform
) -> None:
    page = window.page
    folder = server.data / "branches" / "planted"
    folder.mkdir(parents=True)
    record = {
        "name": "planted", "parent": str(server.data), "created_at": time.time(), "from_live": True, "at": _HOSTILE,
        "warnings": [_HOSTILE], "stop_after_s": 1800.0,
    }  # fmt: skip
    (folder / "branch.json").write_text(json.dumps(record))
    before = read_work(server.data)
    (server.data / FOLDER).mkdir(mode=0o700, exist_ok=True)  # a first request makes it
    running = BranchWork("planted", "create", "planted", "running", time.time(), None, [_HOSTILE])
    try:
        write_work(server.data, running)
        await window.open("branches")
        await expect(page.get_by_text("The branch planted is being made")).to_be_visible()
        await expect(page.get_by_role("list", name="What it reports")).to_contain_text(_HOSTILE)
        await expect(page.get_by_role("button", name="New branch")).to_be_disabled()
        row = page.get_by_role("grid", name="All branches").get_by_role("row").filter(has_text=_HOSTILE)
        await expect(row).to_contain_text(re.compile("stops after 30 mins? without use"))
        await window.check_accessibility()
        write_work(
            server.data, BranchWork("planted", "create", "planted", "failed", 1.0, 2.0, ["no space left"])
        )
        await expect(page.get_by_text("The branch planted was not made")).to_be_visible()
        await expect(page.get_by_text("no space left")).to_be_visible()

        async with open_window(browser, server, add_administrator(server, "reader")) as other:
            await other.open("branches?branch=planted")
            panel = other.page.get_by_role("dialog", name="Branch planted")
            await expect(panel.get_by_role("list").get_by_text(_HOSTILE)).to_be_visible()
            for name in ("Start", "Show the difference", "Merge", "Delete the branch"):
                await expect(panel.get_by_role("button", name=name)).to_have_count(0)
            await other.page.keyboard.press("Escape")
            await expect(other.page.get_by_role("button", name="New branch")).to_have_count(0)
    finally:
        write_work(server.data, before or BranchWork("", "stop", "planted", "done", 0.0, 0.0))
        (folder / "branch.json").unlink()
        folder.rmdir()
