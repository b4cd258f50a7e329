"""What each page of the dashboard fetches and how soon it can be used, with an empty cache; what axe-core finds on it.

A page can be used when its title is there and nothing says that it is loading; the moment counts that is followed by half a second
without loading. Charts are counted to the moment when the last canvas was there. Bytes are those that the browser received (br).
"""

from dataclasses import dataclass
from statistics import median

from playwright.async_api import Browser, TimeoutError

from tests.bench.dashboard.browsing import NARROW, WIDE, plain_window
from tests.dashboard.administrators import Administrator
from tests.dashboard.window import THEMES, DashboardWindow
from tests.platform import Platform

PAGES = {
    "Home": "",
    "Tables": "tables/public/events",
    "SQL": "sql",
    "Assistant": "assistant",
    "Reports": "reports/Shop",
    "Schema": "schema",
    "Policies": "policies",
    "Users": "users",
    "Auth settings": "auth",
    "Mail": "mail",
    "Storage": "storage/pictures",
    "Functions": "functions/hello",
    "Jobs": "jobs",
    "Streams": "streams",
    "Realtime": "realtime",
    "GraphQL": "graphql",
    "REST": "rest",
    "Logs": "logs",
    "Performance": "performance",
    "Backups": "backups",
    "Branches": "branches",
    "Settings": "settings/values",
}
"""The pages of the navigation, with an address that has something to show."""
_WATCH = """
window.watched = { usableAt: null, chartsAt: null, canvases: 0 };
const look = () => {
  const isLoading = !document.querySelector('h1') || document.querySelector('.state-loading, .content [aria-busy=true]');
  if (isLoading) watched.usableAt = null;
  else watched.usableAt ??= performance.now();
  const canvases = document.querySelectorAll('.content canvas').length;
  if (canvases > watched.canvases) Object.assign(watched, { canvases, chartsAt: performance.now() });
  requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
WITH_CHARTS = {"Home": 2, "Reports": 2, "Logs": 1}
"""The charts of pages that have some, each a canvas."""
_RESTS = """(charts) => watched.usableAt !== null && watched.canvases >= charts
  && performance.now() > Math.max(watched.usableAt, watched.chartsAt ?? 0) + 500"""
_READ = """() => {
  const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
  const sum = (entries) => entries.reduce((bytes, entry) => bytes + (entry.transferSize > 0 ? entry.encodedBodySize : 0), 0);
  return {
    usable: watched.usableAt,
    charts: watched.chartsAt,
    canvases: watched.canvases,
    bytes: sum(all.filter((entry) => entry.responseEnd > 0 && entry.responseEnd <= watched.usableAt)),
    all: sum(all),
  };
}"""


@dataclass(frozen=True, slots=True)
class PageFigures:
    """Medians of some loads of a page: bytes, milliseconds; `charts_ms` is None without a chart."""

    bytes_before_use: int
    bytes_at_rest: int
    usable_ms: float
    charts_ms: float | None


async def load_page(
    browser: Browser, server: Platform, owner: Administrator, path: str, repeat: int, charts: int
) -> PageFigures:
    """Load a page some times, each with an empty cache, and return the medians. `charts`: so many are waited for.

    Raises: NotUsable.
    """
    loads = []
    for _ in range(repeat):
        async with plain_window(browser, server, owner) as window:
            await window.page.add_init_script(_WATCH)
            await window.page.goto(f"{server.url}/_/{path}")
            await _wait_until_used(window, charts)
            loads.append(await window.page.evaluate(_READ))
    drawn = [load["charts"] for load in loads if load["charts"] is not None]
    return PageFigures(
        round(median(load["bytes"] for load in loads)),
        round(median(load["all"] for load in loads)),
        median(load["usable"] for load in loads),
        median(drawn) if drawn else None,
    )


async def axe_findings(
    browser: Browser, server: Platform, owner: Administrator, path: str, charts: int
) -> list[str]:
    """Return what axe-core finds on a page, wide and narrow, light and dark. Raises: NotUsable."""
    findings = []
    for size in (WIDE, NARROW):
        async with plain_window(browser, server, owner, viewport=size, reduced_motion="reduce") as window:
            await window.page.add_init_script(_WATCH)
            await window.page.goto(f"{server.url}/_/{path}")
            await _wait_until_used(window, charts)
            for theme in THEMES:
                found = await _in_theme(window, theme)
                findings += [f"{size['width']} px, {theme}: {finding}" for finding in found]
    return findings


class NotUsable(Exception):
    """A page that did not come to rest with its charts; the text has the errors that it shows."""


async def _wait_until_used(window: DashboardWindow, charts: int) -> None:
    try:
        await window.page.wait_for_function(_RESTS, arg=charts)
    except TimeoutError as error:
        shown = await window.page.locator(".content").inner_text()
        raise NotUsable(f"{window.page.url} does not come to rest with {charts} charts: {shown}") from error


async def _in_theme(window: DashboardWindow, theme: str) -> list[str]:
    await window.show_theme(theme)
    return await window.run_axe()
