"""How smoothly a table of 200,000 rows scrolls: the time between frames while a wheel turns.

The wheel sends an event every 16 ms, of 120 px (a slow reader) and of 1,200 px (a fling). Frames are those of the page's own
`requestAnimationFrame`, so a frame counts as late when its scripts, styles, layout or paint took longer.
"""

import asyncio
import time
from dataclasses import dataclass

from playwright.async_api import Browser, CDPSession, Page

from tests.bench import cpu
from tests.bench.dashboard.browsing import plain_window
from tests.dashboard.administrators import Administrator
from tests.platform import Platform

STEPS_PX = (120, 1_200)
_TABLE = "tables/public/events"
_TICK_S = 0.016
_RECORD = """() => {
  window.frames_ms = [];
  let last = performance.now();
  const next = (now) => {
    frames_ms.push(now - last);
    last = now;
    window.recording = requestAnimationFrame(next);
  };
  window.recording = requestAnimationFrame((now) => { last = now; window.recording = requestAnimationFrame(next); });
}"""
_STOP = "() => { cancelAnimationFrame(window.recording); return frames_ms; }"
_TOP_ID = "Number(document.querySelector('.tables-body [data-column=id]').textContent)"


@dataclass(frozen=True, slots=True)
class FrameFigures:
    """Milliseconds between frames of one scroll, and what a frame took of a core in the page's main thread.

    `row`: the first one that was shown at the end; `load`: the share of the cores that other work used before.
    """

    median_ms: float
    p95_ms: float
    worst_ms: float
    count: int
    cpu_ms: float
    row: int
    load: float


async def scroll(
    browser: Browser, server: Platform, owner: Administrator, step_px: int, seconds: float
) -> FrameFigures:
    """Open the table, turn the wheel for some seconds and return the frames."""
    async with plain_window(browser, server, owner) as window:
        page = window.page
        await window.open(_TABLE)
        await page.locator(".tables-body [data-column=id]").first.wait_for()
        load = cpu.load()
        await page.mouse.move(900, 500)
        thread = await page.context.new_cdp_session(page)
        await thread.send("Performance.enable", {"timeDomain": "threadTicks"})
        before = await _cpu_s(thread)
        await page.evaluate(_RECORD)
        await turn_wheel(page, step_px, seconds)
        frames = sorted(await page.evaluate(_STOP))
        cpu_ms = (await _cpu_s(thread) - before) * 1_000 / len(frames)
        row = await page.evaluate(_TOP_ID)
    return FrameFigures(
        frames[len(frames) // 2], frames[int(len(frames) * 0.95)], frames[-1], len(frames), cpu_ms, row, load
    )


async def _cpu_s(thread: CDPSession) -> float:
    """Return the CPU seconds that tasks of the page's main thread have used."""
    metrics = (await thread.send("Performance.getMetrics"))["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))


async def turn_wheel(page: Page, step_px: int, seconds: float) -> None:
    """Send an event of the wheel each 16 ms, or as soon as the browser took the one before."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        tick = time.monotonic()
        await page.mouse.wheel(0, step_px)
        # the pace of the wheel, which a browser that is late slows down
        await asyncio.sleep(max(0.0, _TICK_S - (time.monotonic() - tick)))
