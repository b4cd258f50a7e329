"""Figures of the dashboard: pages, findings of axe-core, frames of a scroll, journeys.

    python -m tests.bench.dashboard [--parts pages,axe,frames,journeys,guided] [--only tables,home] [--repeat 3] [--seconds 5] [--record]

Builds the dashboard, starts a platform with the project of `project.sql` (200,000 events), drives Chromium and prints a table for each
part, then the figures that have a limit: `work | today | wanted | met`. Less than ten minutes on a quiet machine; the load of the
machine stands beside. `--only`: words of the names of pages and journeys. Returns 1 where a limit is missed.
"""

import argparse
import asyncio
import os
import sys
import time

from playwright.async_api import Browser

from tests.bench.dashboard import frames, pages, walks
from tests.bench.dashboard.browsing import running_browser
from tests.bench.dashboard.journeys import JOURNEYS, Workplace
from tests.bench.dashboard.project import measured_platform
from tests.bench.table import Budget, Figures, add_record_option
from tests.dashboard.build import require_build

PARTS = ("pages", "axe", "frames", "journeys", "guided")
BUDGETS = (
    Budget("Home: KB before use", 230),
    *(Budget(f"{name}: charts", 1_000) for name in pages.WITH_CHARTS),
    Budget("findings of axe-core", 0),
    *(Budget(f"scroll by {step} px: p95", 34) for step in frames.STEPS_PX),
    *(Budget(f"scroll by {step} px: worst", 100) for step in frames.STEPS_PX),
    Budget("guided path: clicks", 28),
    Budget("key rotated under a client: failed requests", 0),
    Budget("journeys that fail by keyboard alone", 0),
    Budget("guided paths that fail by keyboard alone", 0),
)


async def measure(options: argparse.Namespace, figures: Figures) -> None:
    """Run the chosen parts, print their tables and add their figures."""
    parts = options.parts.split(",")
    async with running_browser() as browser:
        if {"pages", "axe", "frames", "journeys"} & {*parts}:
            with measured_platform() as (server, owner):
                place = Workplace(server, owner)
                if "pages" in parts:
                    await _pages(browser, place, options, figures)
                if "axe" in parts:
                    await _axe(browser, place, options, figures)
                if "frames" in parts:
                    await _frames(browser, place, options.seconds, figures)
                if "journeys" in parts:
                    await _journeys(browser, place, options, figures)
        if "guided" in parts:
            await _guided(browser, figures)


def _is_chosen(name: str, only: str) -> bool:
    return any(word in name.lower() for word in only.lower().split(","))


def _heading(text: str) -> None:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg()[:2])
    print(f"\n{text}   [load of the machine {load} on {os.cpu_count()} cores]", flush=True)


async def _pages(browser: Browser, place: Workplace, options: argparse.Namespace, figures: Figures) -> None:
    _heading(f"{'page':16}{'KB before use':>14}{'KB at rest':>12}{'usable ms':>11}{'charts ms':>11}")
    for name, path in pages.PAGES.items():
        if not _is_chosen(name, options.only):
            continue
        charts = pages.WITH_CHARTS.get(name, 0)
        try:
            page = await pages.load_page(browser, place.server, place.owner, path, options.repeat, charts)
        except pages.NotUsable as fault:
            figures.wrong(f"{name}: {fault}")
            continue
        text = "" if page.charts_ms is None else f"{page.charts_ms:.0f}"
        print(
            f"{name:16}{page.bytes_before_use / 1024:14.0f}{page.bytes_at_rest / 1024:12.0f}{page.usable_ms:11.0f}{text:>11}",
            flush=True,
        )
        figures.add(f"{name}: KB before use", page.bytes_before_use / 1024, "KB")
        figures.add(f"{name}: usable", page.usable_ms, "ms")
        if page.charts_ms is not None:
            figures.add(f"{name}: charts", page.charts_ms, "ms")


async def _axe(browser: Browser, place: Workplace, options: argparse.Namespace, figures: Figures) -> None:
    _heading("findings of axe-core: light and dark, 1440 and 390 px")
    total = 0
    for name, path in pages.PAGES.items():
        if not _is_chosen(name, options.only):
            continue
        charts = pages.WITH_CHARTS.get(name, 0)
        try:
            findings = await pages.axe_findings(browser, place.server, place.owner, path, charts)
        except pages.NotUsable as fault:
            figures.wrong(f"{name}: {fault}")
            continue
        total += len(findings)
        print("\n  ".join([f"{name:16}{len(findings)}", *findings]), flush=True)
    figures.add("findings of axe-core", total, "")


async def _frames(browser: Browser, place: Workplace, seconds: float, figures: Figures) -> None:
    _heading(
        f"{'scroll of 200,000 rows':26}{'median ms':>10}{'p95 ms':>8}{'worst ms':>10}{'frames':>8}{'CPU ms':>8}{'at row':>8}"
        f"{'other load':>12}"
    )
    for step in frames.STEPS_PX:
        scrolled = await frames.scroll(browser, place.server, place.owner, step, seconds)
        name = f"scroll by {step} px"
        print(
            f"{name:26}{scrolled.median_ms:10.1f}{scrolled.p95_ms:8.1f}{scrolled.worst_ms:10.1f}{scrolled.count:8}"
            f"{scrolled.cpu_ms:8.1f}{scrolled.row:8}{scrolled.load:12.0%}",
            flush=True,
        )
        figures.add(f"{name}: p95", scrolled.p95_ms, "ms")
        figures.add(f"{name}: worst", scrolled.worst_ms, "ms")
        figures.add(f"{name}: CPU a frame", scrolled.cpu_ms, "ms")


async def _journeys(
    browser: Browser, place: Workplace, options: argparse.Namespace, figures: Figures
) -> None:
    _heading(f"{'journey':32}{'by':>10}{'s':>7}{'clicks':>8}{'fields':>8}{'keys':>6}")
    faults = []
    for name, journey in JOURNEYS.items():
        if not _is_chosen(name, options.only):
            continue
        for walk in await walks.by_mouse_and_keyboard(browser, place, journey):
            print(f"{name:32}{walk.text()}", flush=True)
            if walk.fault:
                faults.append(f"{name} by {walk.by}")
            figures.add(f"{name} by {walk.by}", walk.seconds, "s")
            figures.add(f"{name}: clicks", walk.clicks, "")
    if place.failed_requests is not None:
        figures.add("key rotated under a client: failed requests", place.failed_requests, "")
    figures.add(
        "journeys that fail by keyboard alone", sum(fault.endswith("keyboard") for fault in faults), ""
    )
    if faults:
        figures.wrong(", ".join(faults))


async def _guided(browser: Browser, figures: Figures) -> None:
    _heading(f"{'guided path':32}{'by':>10}{'s':>7}{'clicks':>8}{'fields':>8}{'keys':>6}")
    for walk in await walks.guided_paths(browser):
        print(f"{'from a link to rows of a user':32}{walk.text()}", flush=True)
        figures.add(f"guided path by {walk.by}", walk.seconds, "s")
        if walk.fault:
            figures.wrong(f"guided path by {walk.by}")
        if walk.by == "keyboard":
            figures.add("guided paths that fail by keyboard alone", float(bool(walk.fault)), "")
        if walk.by == "mouse":
            print(walk.steps)
            figures.add("guided path: clicks", walk.clicks, "")
            figures.add("guided path: fields", walk.fields, "")


def main() -> int:
    """Measure and print; 1 where a limit is missed or a journey failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default=",".join(PARTS), help="parts, comma separated; default: all")
    parser.add_argument("--only", default="", help="words of pages and journeys, comma separated")
    parser.add_argument("--repeat", type=int, default=3, help="loads of each page; the median counts")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of a scroll")
    add_record_option(parser)
    options = parser.parse_args()
    if not {*options.parts.split(",")} <= {*PARTS}:
        parser.error(f"parts are {', '.join(PARTS)}")
    require_build()
    figures = Figures("dashboard", BUDGETS)
    begun = time.monotonic()
    asyncio.run(measure(options, figures))
    print(f"\n{time.monotonic() - begun:.0f} s")
    is_met = figures.finish(options.record)
    return 0 if is_met and "wrong" not in figures.notes else 1


if __name__ == "__main__":
    sys.exit(main())
