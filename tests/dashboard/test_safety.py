"""One platform full of hostile text: every page shows it, and none of it becomes an element, a link or a script."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
import pytest
from playwright.async_api import Page, Request, expect

from tests.dashboard.administrators import Administrator
from tests.dashboard.planted import (
    IMAGE,
    LONG_START,
    PAYLOADS,
    plant_a_user,
    plant_an_administrator,
    plant_an_email,
    plant_in_database,
    plant_in_logs,
    plant_in_storage,
)
from tests.dashboard.window import DashboardWindow
from tests.platform import Platform

pytestmark = pytest.mark.timeout(240)
_FOREIGN = r"""
() => {
  const faults = [...document.querySelectorAll('[data-planted], [data-plant]')].map((element) => `element: ${element.outerHTML}`);
  for (const element of document.querySelectorAll('*')) {
    for (const { name, value } of element.attributes) {
      if (name.startsWith('on')) faults.push(`handler: ${element.outerHTML}`);
      if (!['href', 'xlink:href', 'src', 'action', 'formaction', 'data', 'srcdoc'].includes(name)) continue;
      const url = URL.canParse(value, document.baseURI) ? new URL(value, document.baseURI) : null;
      const isOwn = url && (['http:', 'https:', 'blob:', 'mailto:'].includes(url.protocol) || value.startsWith('data:image/'));
      if (!isOwn) faults.push(`address: ${name}=${value}`);
    }
  }
  for (const name in {}) faults.push(`member of all objects: ${name}`);
  return faults.map((fault) => fault.slice(0, 300));
}
"""
"""Return what hostile text became in the document of the dashboard."""


@dataclass(frozen=True)
class PlantedViews:
    """What is needed to open the views of planted things."""

    user: str
    request: str
    administrator: Administrator


@pytest.fixture(scope="module")
def planted(server: Platform, owner: Administrator) -> PlantedViews:
    """The platform, filled."""
    plant_in_database(server)
    plant_in_storage(server)
    user = plant_a_user(server, owner)
    plant_an_email(owner)
    return PlantedViews(user, plant_in_logs(server, owner), plant_an_administrator(server))


@dataclass
class HostileViews:
    """A window that opens views with planted text and notes what this text became."""

    window: DashboardWindow

    @property
    def page(self) -> Page:
        return self.window.page

    def watch(self) -> None:
        """Note dialogs, new windows, and requests to other servers as faults."""
        faults = self.window.faults
        self.page.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
        self.page.on("popup", lambda popup: faults.append(f"window: {popup.url}"))
        self.page.on("request", self._on_request)

    async def open(self, path: str, *shown: str) -> None:
        """Open a view, and wait until it shows these texts."""
        await self.window.open(path)
        for text in shown:
            await expect(self.page.locator("body")).to_contain_text(text)
        await self.check()

    async def check(self) -> None:
        """Note what hostile text became in the view as it is."""
        found = await self.page.evaluate(_FOREIGN)
        self.window.faults.extend(f"{self.page.url[:200]}: {fault}" for fault in found)

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith((self.window.url, "data:", "blob:")):
            self.window.faults.append(f"request: {request.url[:200]}")


@pytest.fixture
async def views(window: DashboardWindow, planted: PlantedViews) -> HostileViews:
    """The owner's window."""
    hostile = HostileViews(window)
    hostile.watch()
    return hostile


def _at(*parts: str, **search: str) -> str:
    path = "/".join(quote(part, safe="") for part in parts)
    return f"{path}?{urlencode(search)}" if search else path


@pytest.mark.parametrize("name", PAYLOADS)
async def test_a_hostile_name_is_shown_by_every_page_of_tables(views: HostileViews, name: str) -> None:
    await views.open(_at("tables", "public", name), name)
    await views.open(_at("policies", "public", name), name)
    await views.open(_at("rest", "table", name), name)
    await views.open(_at("storage", name), name)


async def test_cells_of_every_type_are_text(views: HostileViews) -> None:
    page = views.page
    await page.set_viewport_size(
        {"width": 6000, "height": 1000}
    )  # virtual columns are drawn when they are in view
    await views.open("tables/public/cells", *PAYLOADS, LONG_START)
    row = page.locator('[role="row"][aria-rowindex="3"]')
    await expect(row.locator('[data-column="doc"]')).to_contain_text(IMAGE)
    await expect(row.locator('[data-column="mood"]')).to_contain_text(IMAGE)
    await expect(row.locator('[data-column="list"]')).to_contain_text(IMAGE)
    await expect(row.locator('[data-column="part"]')).to_contain_text("img data-planted")
    await views.check()


async def test_users_files_and_emails_are_text(views: HostileViews, planted: PlantedViews) -> None:
    await views.open("users", IMAGE)
    await views.open(_at("users", planted.user), IMAGE)
    await views.open("storage", *PAYLOADS)
    for bucket in PAYLOADS[:2]:
        await views.open(_at("storage", bucket, file=IMAGE), IMAGE)
    await views.open("mail", f"Subject {IMAGE}")
    await views.page.get_by_role("row", name="Subject <img").click()
    await views.page.frame_locator("iframe").get_by_text("javascript:alert(1)").first.wait_for()
    await views.check()
    assert views.page.url.startswith(f"{views.window.url}/_/mail")
    await views.open("auth/emails?email=recovery")


async def test_logs_and_errors_are_text(
    views: HostileViews, planted: PlantedViews, owner: Administrator
) -> None:
    await views.open(_at("logs", area="functions"), *PAYLOADS[:2], LONG_START)
    await views.open(_at("logs", "request", planted.request), IMAGE)
    await views.open(_at("logs", text="data-planted"), IMAGE)
    for name in PAYLOADS[:3]:
        await views.open(_at("rest", "function", name), name)
        await views.page.get_by_role("button", name="Send").click()
        await expect(views.page.get_by_role("region", name="Answer")).to_contain_text(name)
        await views.check()


async def test_statements_sessions_and_findings_are_text(
    views: HostileViews, server: Platform, planted: PlantedViews
) -> None:
    named = server.values["DB_URL"]
    with psycopg.connect(named, application_name=IMAGE) as connection:
        connection.execute(f"select $${IMAGE}$$ as {_quoted(IMAGE)}")
        await views.open("performance/sessions", IMAGE)
    await views.open("performance", IMAGE)
    await views.open("performance/indexes", IMAGE)
    await views.open("performance/statements")
    await views.open("performance/sizes", IMAGE)
    await views.open("")


async def test_settings_and_the_audit_log_are_text(views: HostileViews) -> None:
    await views.open("settings/tokens", *PAYLOADS)
    await views.open("settings/audit", "tokens.create")
    await views.open("settings/account")
    await views.open(
        _at("settings", "values", find="template.recovery"), "auth.email.template.recovery.subject"
    )
    await views.open("settings/values?open=auth.email.template.recovery.subject")
    await views.open("settings/administrators")


async def test_realtime_and_graphql_are_text(views: HostileViews) -> None:
    page = views.page
    await views.open("realtime/tables", *PAYLOADS)
    await views.open(_at("realtime", "channel", topic=IMAGE, table="cells"))
    await page.get_by_role("button", name="Join", exact=True).click()
    await expect(page.get_by_text("joined", exact=True)).to_be_visible()
    await views.check()
    await views.open("realtime/state")
    await views.open(_at("graphql", query=IMAGE, variables=IMAGE))


@pytest.mark.parametrize("text", [IMAGE, "__proto__"])
async def test_text_of_an_address_is_text(views: HostileViews, text: str) -> None:
    names = "find order sort where view columns row file tab open text level area status user follow kind role query schema as"
    search: dict[str, Any] = dict.fromkeys(names.split(), text)
    for path in (
        ("tables", text, text), ("tables", "public", "cells"), ("sql", text), ("policies", text, text), ("users", text),
        ("auth", text), ("mail", text), ("storage", text, text), ("realtime", text), ("graphql", text), ("rest", text, text),
        ("logs", "request", text), ("logs", text), ("performance", text), ("settings", text), (text, text), ("sign-in", text),
    ):  # fmt: skip
        await views.open(_at(*path, **(search if path[0] != "sign-in" else {})))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
