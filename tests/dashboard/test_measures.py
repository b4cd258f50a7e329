"""What the dashboard weighs and how quickly it shows: a table is printed; only bytes can fail."""

import gzip
import re

import pytest

from tests.dashboard.build import STATIC
from tests.dashboard.window import DashboardWindow

pytestmark = pytest.mark.timeout(240)

MOST_BUILT = 6 * 1024 * 1024
"""Bytes that the wheel may grow by: br and gzip forms of all files, and the licences."""
_PAGES = (
    "",
    "tables",
    "sql",
    "schema",
    "policies",
    "users",
    "storage",
    "functions",
    "jobs",
    "realtime",
    "graphql",
    "rest",
    "logs",
)
_OBSERVE = """
window.measured = { largest: 0, blocked: 0 };
new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.measured.largest = entry.startTime; })
  .observe({ type: 'largest-contentful-paint', buffered: true });
new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.measured.blocked += Math.max(0, entry.duration - 50); })
  .observe({ type: 'longtask', buffered: true });
"""
_READ = """() => ({
  ...window.measured,
  first: performance.getEntriesByName('first-contentful-paint')[0].startTime,
  bytes: performance.getEntriesByType('resource').filter((e) => e.name.includes('/assets/')).reduce((sum, e) => sum + e.encodedBodySize, 0),
})"""


async def test_pages_show_quickly(window: DashboardWindow, capsys: pytest.CaptureFixture[str]) -> None:
    page = window.page
    await page.add_init_script(_OBSERVE)
    lines = [f"{'page':<10} first paint  largest paint  total blocking time  KB received (br)"]
    for path in _PAGES:
        await window.open(path)
        await page.wait_for_function("() => measured.largest > 0")
        seen = await page.evaluate(_READ)
        lines.append(
            f"{path or 'home':<10} {seen['first']:>8.0f} ms {seen['largest']:>11.0f} ms {seen['blocked']:>17.0f} ms"
            f" {seen['bytes'] / 1024:>17.0f}"
        )
    with capsys.disabled():
        print("\n" + "\n".join(lines))

    assert len(lines) == len(_PAGES) + 1


def test_the_wheel_grows_by_little(built_dashboard: None, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = {path.name: path.stat().st_size for path in STATIC.rglob("*") if path.is_file()}
    with capsys.disabled():
        print(f"\nbuilt: {len(sizes)} files, {sum(sizes.values()) / 1024:.0f} KB")

    assert sum(sizes.values()) <= MOST_BUILT


def test_built_files_have_no_source_maps_and_no_keys(built_dashboard: None) -> None:
    texts = {path.name: gzip.decompress(path.read_bytes()).decode() for path in STATIC.rglob("*.gz")}

    assert len(texts) > 20
    assert [name for name, text in texts.items() if "sourceMappingURL" in text] == []
    assert [
        name for name, text in texts.items() if re.search(r"sb_secret_[\w-]{8}|service_role\W+eyJ", text)
    ] == []
    assert [path.name for path in STATIC.rglob("*.map*")] == []
