"""The pages Jobs (scheduled SQL with its runs, queues with their messages, webhooks with their deliveries) and Streams."""

from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, Page, expect

from tests.dashboard.administrators import PASSWORD, Administrator, add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform, platform
from tests.platforms.webhook_receiver import Receiver, receiver

pytestmark = pytest.mark.timeout(240)

XSS = "<img src=x onerror=console.error('xss')>"


CONFIG = """
[functions.mailer.queue]
queue = "letters"
dead_letter = "emails"

[streams.feed]
tables = ["streamed", "later.missing"]
target = "nats:"
every = "0s"
"""


@pytest.fixture(scope="module")
def target() -> Iterator[Receiver]:
    """A receiver of webhooks."""
    with receiver() as running:
        yield running


@pytest.fixture(scope="module")
def server(
    built_dashboard: None, chromium_program: str, tmp_path_factory: pytest.TempPathFactory, target: Receiver
) -> Iterator[Platform]:
    """A platform with a function that consumes a queue; no worker of functions runs, so its messages wait."""
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "supabase").mkdir()
    (folder / "supabase" / "config.toml").write_text(CONFIG)
    allowed = {"HEADWATER_NET_ALLOW": f"127.0.0.1:{target.port}"}
    with platform("--project", str(folder), environment=allowed) as running:
        yield running


@pytest.fixture(scope="module", autouse=True)
def objects(server: Platform) -> None:
    """Extensions, a table for webhooks, a queue with messages."""
    server.psql(
        "create extension if not exists pg_cron; create extension if not exists pg_net; create extension if not exists pgmq;"
        "create table public.orders (id int primary key, note text);"
        "create table public.streamed (id int primary key); insert into public.streamed values (1), (2);"
        "select pgmq.create('emails');"
        f"select pgmq.send('emails', jsonb_build_object('to', $x${XSS}$x$));"
        "select pgmq.send('emails', '{\"to\": \"second\"}'); select pgmq.send('emails', '{\"to\": \"third\"}')"
    )


async def _confirmed(page: Page, what: str) -> None:
    """Give the password if the dashboard asks for a confirmation, then wait for what follows."""
    password = page.get_by_label("Password")
    text = page.get_by_text(what).first
    await password.or_(text).first.wait_for()
    if await password.is_visible():
        await password.fill(PASSWORD)
        await page.keyboard.press("Enter")
    await text.wait_for()


async def _write(page: Page, editor: str, text: str) -> None:
    await page.get_by_role("textbox", name=editor).click()
    await page.keyboard.press("Control+a")
    await page.keyboard.insert_text(text)


async def test_a_job_is_created_run_and_its_error_shown(window: DashboardWindow) -> None:
    page = window.page
    await page.emulate_media(reduced_motion="reduce")  # axe-core sees no colours between two states
    await window.open("jobs")
    await page.get_by_role("button", name="Create job").first.click()
    form = page.get_by_role("dialog", name="Create job")
    await form.get_by_label("Name", exact=True).fill(f"fails {XSS}")
    await form.get_by_label("Schedule").fill("0 99 * * *")
    await expect(form.get_by_role("alert")).to_be_visible()
    await form.get_by_label("Schedule").fill("0 3 1 * *")
    await expect(form.get_by_role("status").get_by_text("At 03:00")).to_be_visible()
    assert await window.run_axe() == []
    await _write(page, "SQL", "select 1 / 0")
    await form.get_by_role("button", name="Create job").click()
    await page.get_by_role("row", name=f"fails {XSS}").click()
    await page.get_by_role("button", name="Run now").click()
    runs = page.get_by_role("grid", name="Runs")

    await expect(runs.get_by_text("division by zero")).to_be_visible()
    await expect(runs.get_by_text("failed")).to_be_visible()
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("jobs-job")


async def test_a_job_is_changed_switched_off_and_removed(
    window: DashboardWindow, owner: Administrator
) -> None:
    job = owner.run("jobs.create", name="nightly", schedule="@daily", command="select 1")["id"]
    page = window.page
    await window.open("jobs")
    await expect(page.get_by_role("row", name="nightly").get_by_text("At 00:00 every day")).to_be_visible()
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("jobs")
    await window.open(f"jobs/cron/{job}")
    await page.get_by_role("button", name="Change", exact=True).click()
    await _write(page, "SQL", "select 2")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("region", name="SQL")).to_contain_text("select 2")
    await page.get_by_role("button", name="Switch off").click()
    await expect(page.get_by_role("button", name="Switch on")).to_be_visible()
    await page.get_by_role("button", name="Remove", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    await _confirmed(page, "The job was removed")

    assert "nightly" not in [row["name"] for row in owner.run("jobs.list")["rows"]]


async def test_messages_are_looked_at_retried_and_archived(window: DashboardWindow, server: Platform) -> None:
    server.psql("select pgmq.read('emails', 3600, 1)")
    page = window.page
    await window.open("jobs/queues")
    await window.check_accessibility()
    await page.get_by_role("row", name="emails").click()
    messages = page.get_by_role("grid", name="Messages")
    await messages.get_by_role("row", name="second").click()
    await page.get_by_role("dialog").get_by_text('"second"').wait_for()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)

    await messages.get_by_role("row", name=XSS).locator("label").click()
    await page.get_by_role("button", name="Make readable").click()
    await page.get_by_text("1 message is readable").wait_for()
    await messages.get_by_role("row", name="third").locator("label").click()
    await page.get_by_role("group", name="1 selected").get_by_role("button", name="Archive").click()
    await expect(messages.get_by_role("row", name="third")).to_have_count(0)
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("jobs-queue")
    await page.get_by_role("tab", name="Archive").click()
    await expect(page.get_by_role("grid", name="Archive").get_by_role("row", name="third")).to_be_visible()


async def test_a_queue_is_made_filled_and_dropped(window: DashboardWindow, owner: Administrator) -> None:
    page = window.page
    await window.open("jobs/queues")
    await page.get_by_role("button", name="Create queue").click()
    await page.get_by_role("dialog").get_by_label("Name").fill("made_here")
    await page.get_by_role("dialog").get_by_role("button", name="Create queue").click()
    await page.get_by_role("row", name="made_here").click()
    await expect(page.get_by_role("heading", name="No messages")).to_be_visible()
    await page.get_by_role("button", name="Send message").click()
    await _write(page, "Message, as JSON", "{")
    await page.get_by_role("dialog").get_by_role("button", name="Send message").click()
    await expect(page.get_by_role("alert")).to_contain_text("This is not valid JSON")
    await _write(page, "Message, as JSON", '{"n": 1}')
    await page.get_by_role("dialog").get_by_role("button", name="Send message").click()
    await page.get_by_role("grid", name="Messages").get_by_text('{"n":1}').wait_for()

    await page.get_by_role("button", name="Delete all messages").click()
    await page.get_by_role("dialog").get_by_label("Type made_here").fill("made_here")
    await page.get_by_role("dialog").get_by_role("button", name="Delete all messages").click()
    await _confirmed(page, "1 message deleted")
    await page.get_by_role("button", name="Drop queue").click()
    await page.get_by_role("dialog").get_by_label("Type made_here").fill("made_here")
    await page.get_by_role("dialog").get_by_role("button", name="Drop queue").click()
    await _confirmed(page, "The queue was dropped")

    assert [queue["name"] for queue in owner.run("queues.list")] == ["emails"]


async def test_the_consumer_of_a_queue_is_drained_and_resumed(
    window: DashboardWindow, server: Platform, owner: Administrator
) -> None:
    page = window.page
    owner.run("queues.create", queue="letters")
    await window.open("jobs/queues/letters")
    card = page.locator("section").filter(has_text="Consumed by mailer")
    await expect(card.get_by_text("consumes", exact=True)).to_be_visible()
    await card.get_by_role("button", name="Drain").click()
    await expect(card.get_by_text("paused", exact=True)).to_be_visible()
    server.psql("select pgmq.send('emails', '1', '{\"dead_letter\": {\"queue\": \"letters\"}}'::jsonb)")
    assert owner.run("queues.redrive", queue="letters") == {"count": 1}
    await expect(page.get_by_role("grid", name="Messages").get_by_role("row")).to_have_count(2)
    await window.check_accessibility()
    await window.check_narrow()
    await card.get_by_role("button", name="Resume").click()

    await expect(card.get_by_role("button", name="Pause")).to_be_visible()
    server.psql("select pgmq.drop_queue('letters')")


async def test_a_webhook_and_its_failed_delivery(window: DashboardWindow, server: Platform) -> None:
    page = window.page
    await page.emulate_media(reduced_motion="reduce")  # axe-core sees no colours between two states
    await window.open("jobs/webhooks")
    await page.get_by_role("button", name="Create webhook").first.click()
    form = page.get_by_role("dialog", name="Create a webhook")
    await form.get_by_label("Name", exact=True).fill("tell_orders")
    await form.get_by_role("combobox", name="Table").fill("public.orders")
    await page.keyboard.press("Tab")
    await form.get_by_label("Address").fill(f"{server.url}/nothing-is-here")
    assert await window.run_axe() == []
    await form.get_by_role("button", name="Show the SQL").click()
    await expect(form.get_by_role("region", name="SQL of the change")).to_contain_text("create trigger")
    await form.get_by_role("button", name="Create webhook").click()
    await page.get_by_role("row", name="tell_orders").wait_for()
    server.psql("insert into orders values (1, 'first')")
    await page.get_by_role("row", name="tell_orders").click()

    deliveries = page.get_by_role("grid", name="Deliveries")
    await expect(deliveries.get_by_text("the host is at a private address")).to_be_visible()
    await deliveries.get_by_role("row").nth(1).click()
    await page.get_by_role("dialog").wait_for()
    await page.keyboard.press("Escape")
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("jobs-deliveries")

    await window.open("jobs/webhooks")
    await page.get_by_role("button", name="Actions on tell_orders").click()
    await page.get_by_role("menuitem", name="Switch off").click()
    await expect(page.get_by_role("row", name="tell_orders").get_by_text("off")).to_be_visible()
    await window.screenshot("jobs-webhooks")
    await page.get_by_role("button", name="Actions on tell_orders").click()
    await page.get_by_role("menuitem", name="Remove").click()
    await page.get_by_role("dialog").get_by_label("Type tell_orders").fill("tell_orders")
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await _confirmed(page, "The webhook was removed")


async def test_requests_of_sql_and_their_answers(window: DashboardWindow, server: Platform) -> None:
    server.psql(f"select net.http_get('{server.url}/nothing-is-here')")
    page = window.page
    await window.open("jobs/requests")
    answers = page.get_by_role("grid", name="Answers")
    await expect(answers.get_by_text("the host is at a private address").first).to_be_visible()
    await window.check_accessibility()
    await window.check_narrow()
    await answers.get_by_role("row").nth(1).click()

    await expect(page.get_by_role("dialog").get_by_text("the host is at a private address")).to_be_visible()


async def test_a_reader_looks_only(browser: Browser, server: Platform, owner: Administrator) -> None:
    reader = add_administrator(server, "reader")
    job = owner.run("jobs.create", name="for readers", schedule="@daily", command="select 1")["id"]
    async with open_window(browser, server, reader) as window:
        page = window.page
        await window.open(f"jobs/cron/{job}")
        await page.get_by_role("heading", level=2, name="for readers").wait_for()
        await expect(page.get_by_role("button", name="Run now")).to_have_count(0)
        await window.open("jobs/queues/emails")
        await page.get_by_role("grid", name="Messages").wait_for()
        await expect(page.get_by_role("button", name="Send message")).to_have_count(0)
        await expect(page.get_by_role("checkbox")).to_have_count(0)


async def test_an_event_webhook_is_added_tested_and_its_delivery_sent_again(
    window: DashboardWindow, server: Platform, target: Receiver
) -> None:
    page = window.page
    await page.emulate_media(reduced_motion="reduce")  # axe-core sees no colours between two states
    target.statuses["/notes"] = [200, 500]
    await window.open("jobs/events")
    await page.get_by_role("button", name="Add webhook").first.click()
    form = page.get_by_role("dialog", name="Add webhook")
    await form.get_by_label("Name", exact=True).fill(f"notes {XSS}")
    await form.get_by_label("Address").fill("http://10.0.0.1/closed")
    await form.get_by_role("combobox", name="Table").fill("public.orders")
    await form.get_by_role("button", name="Add webhook").click()
    await expect(form.get_by_role("alert")).to_contain_text("net.allow")
    assert await window.run_axe() == []
    await form.get_by_label("Address").fill(target.url("/notes"))
    await form.get_by_text("insert", exact=True).click()
    await form.get_by_role("button", name="Add webhook").click()
    await expect(page.get_by_role("dialog").get_by_text("whsec_")).to_be_visible()
    await page.get_by_role("dialog").get_by_role("button", name="Close").last.click()
    await page.get_by_role("row", name=f"notes {XSS}").click()
    await page.get_by_role("button", name="Send a test").click()
    await page.get_by_text("The receiver took it with status 200").wait_for()

    server.psql("insert into public.orders values (70, 'by event')")
    deliveries = page.get_by_role("grid", name="Deliveries")
    await expect(deliveries.get_by_text("500 (1 attempt)")).to_be_visible()
    await expect(deliveries.get_by_text("200 (2 attempts)")).to_be_visible()
    await deliveries.get_by_role("row", name="row.inserted").locator("label").click()
    await page.get_by_role("button", name="Send 1 again").click()
    await page.get_by_text("1 delivery is sent again").wait_for()
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("jobs-event-webhook")
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_text("paused", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Remove", exact=True).click()
    await page.get_by_role("dialog").get_by_label("Type notes").fill(f"notes {XSS}")
    await page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    await _confirmed(page, "The webhook was removed")
    assert len({event.id for event in target.at("/notes")}) == 2


async def test_a_run_of_a_durable_job_is_looked_into_repeated_and_cancelled(
    window: DashboardWindow, server: Platform
) -> None:
    page = window.page
    await page.emulate_media(reduced_motion="reduce")  # axe-core sees no colours between two states
    server.psql(
        "select headwater_jobs.define('report'); select headwater_jobs.start('report', '{\"month\": \"2026-01\"}', 'first');"
        f"select headwater_jobs.step(id, attempt, 'read', to_jsonb($x${XSS}$x$::text)), headwater_jobs.step(id, attempt, 'write', '7'),"
        " headwater_jobs.fail(id, attempt, 'no paper', true) from headwater_jobs.take('report')"
    )
    await window.open("jobs/durable")
    await page.get_by_role("grid", name="Durable jobs").get_by_role("row", name="report").click()
    await page.get_by_role("grid", name="Runs").get_by_role("row", name="first").click()
    run = page.get_by_role("dialog", name="Run")
    await expect(run.get_by_text("no paper")).to_be_visible()
    await expect(run.get_by_text(XSS)).to_be_visible()
    await window.check_accessibility()
    await run.get_by_role("button", name="Run again from here").nth(1).click()
    await page.get_by_text("A new run was started").wait_for()
    await expect(run.get_by_text("queued", exact=True)).to_be_visible()
    await expect(run.get_by_text("write", exact=True)).to_have_count(0)
    await run.get_by_role("button", name="Cancel").click()
    await page.get_by_text("The run was cancelled").wait_for()
    await expect(run.get_by_text("cancelled", exact=True)).to_be_visible()
    await window.screenshot("jobs-durable-run")


async def test_a_stream_shows_how_it_does_and_is_paused_and_copied_again(
    window: DashboardWindow, browser: Browser, server: Platform, owner: Administrator
) -> None:
    page = window.page
    await window.open("streams")
    feed = page.get_by_role("grid", name="feed")
    table = feed.get_by_role("row", name="public.streamed")
    await expect(table.get_by_text("follows", exact=True)).to_be_visible()
    await expect(table.get_by_role("gridcell", name="2", exact=True)).to_be_visible()
    missing = feed.get_by_role("row", name="later.missing")
    await expect(missing.get_by_text("there is no table later.missing")).to_be_visible()
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("streams")
    await page.get_by_role("button", name="Pause").click()
    await expect(table.get_by_text("paused", exact=True)).to_be_visible()
    server.psql("insert into public.streamed values (3)")
    await page.get_by_role("button", name="Resume").click()
    await expect(table.get_by_role("gridcell", name="3", exact=True)).to_be_visible()
    await table.click()
    view = page.get_by_role("dialog", name="public.streamed")
    await expect(view.get_by_text("the target has no rows yet")).to_be_visible()
    await view.get_by_role("button", name="Copy all rows again").click()
    await (
        page.get_by_role("dialog", name="Copy all rows again")
        .get_by_role("button", name="Copy all rows again")
        .click()
    )

    await expect(view.get_by_text("an administrator requested it")).to_be_visible()
    await expect(view.get_by_text("2 times")).to_be_visible()
    assert await window.run_axe() == []
    with pytest.raises(AssertionError, match="not_found"):
        owner.run("streams.pause", stream="none")
    developer = add_administrator(server, "developer")
    async with open_window(browser, server, developer) as looking:
        await looking.open("streams")
        await looking.page.get_by_role("grid", name="feed").get_by_text("follows", exact=True).wait_for()
        await expect(looking.page.get_by_role("button", name="Pause")).to_have_count(0)
