"""Journeys as they are walked: time, clicks, fields and keys of each, by mouse and by keyboard alone, or where it broke."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from playwright.async_api import Browser, Error, expect

from tests.bench.dashboard.browsing import plain_window
from tests.bench.dashboard.journeys import Journey, Workplace
from tests.dashboard.administrators import Administrator, one_time_secret
from tests.dashboard.counting_user import CountingUser, KeyboardUser
from tests.dashboard.guided_path import follow_guided_path
from tests.dashboard.window import TIMEOUT_MS
from tests.platform import Platform, platform

_USERS: dict[str, type[CountingUser]] = {"mouse": CountingUser, "keyboard": KeyboardUser}
_MOST_TEXT = 300
"""Signs of a fault; Playwright adds all that the page shows."""
_TIMEOUT_MS = 20_000
"""Until a step is given up, so that a journey that breaks does not use up the time of the others."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A journey as it went. `fault`: what it broke at, empty if it came to its end; `steps`: clicks and fields of each step."""

    by: str
    seconds: float
    clicks: int
    fields: int
    keys: int
    fault: str
    notes: tuple[str, ...]
    steps: str

    def text(self) -> str:
        """Return it as the end of a line of the table."""
        keys = str(self.keys) if self.by == "keyboard" else ""
        figures = f"{self.by:>10}{self.seconds:7.1f}{self.clicks:8}{self.fields:8}{keys:>6}"
        return "  ".join([figures, *self.notes, *([f"BROKE: {self.fault}"] if self.fault else [])])


async def by_mouse_and_keyboard(browser: Browser, place: Workplace, journey: Journey) -> list[Walk]:
    """Walk a journey with a mouse, then with a keyboard alone."""
    walks = []
    for by in _USERS:
        place.notes.clear()
        place.owner.confirm()
        walks.append(
            await _walk(
                browser, by, place.server, place.owner, lambda user: journey(user, place), place.notes
            )
        )
    return walks


async def guided_paths(browser: Browser) -> list[Walk]:
    """Walk the guided path on a new platform each, with a mouse and with a keyboard alone."""
    walks = []
    for by in _USERS:
        with platform() as server:
            (server.data.parent / "supabase").mkdir(exist_ok=True)
            secret = one_time_secret(server, "admin", "add", "first@example.com")
            link = f"{server.url}/_/sign-in#{secret}"

            async def journey(user: CountingUser, server: Platform = server, link: str = link) -> None:
                await follow_guided_path(user, server, link)

            walks.append(await _walk(browser, by, server, None, journey, []))
    return walks


async def _walk(
    browser: Browser,
    by: str,
    server: Platform,
    owner: Administrator | None,
    journey: Callable[[CountingUser], Awaitable[None]],
    notes: list[str],
) -> Walk:
    expect.set_options(
        timeout=TIMEOUT_MS
    )  # a backup of a busy machine takes longer than the 5 s of Playwright
    async with plain_window(browser, server, owner) as window:
        window.page.set_default_timeout(_TIMEOUT_MS)
        user = _USERS[by](window)
        await user.begin("all")
        begun, fault = time.monotonic(), ""
        try:
            await journey(user)
        except (AssertionError, Error) as error:
            fault = f"{user.step}: {' '.join(str(error).split())[:_MOST_TEXT]}"
        return Walk(
            by,
            time.monotonic() - begun,
            user.all_clicks,
            user.all_fields,
            user.keys,
            fault,
            tuple(notes),
            user.report(),
        )
