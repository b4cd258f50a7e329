"""A window of the dashboard that is watched: what must never happen there fails the test when the window closes.

- an error on the console, an exception or rejection that nothing handles
- a violation of the Content-Security-Policy
- a secret key of the platform in any answer
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyvips
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Response

from tests.dashboard.administrators import Administrator
from tests.dashboard.build import ROOT, WEB
from tests.platform import Platform

TIMEOUT_MS = 60_000
THEMES = ("light", "dark")
IMAGES = ROOT / "docs" / "images" / "dashboard"
_AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
_LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
_RULES = ["region", "empty-table-header"]
"""Rules of axe-core beyond WCAG: landmarks around all content, names of all columns."""
_REPORT = """
document.addEventListener('securitypolicyviolation', (event) =>
  console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber} ${event.sample}`))
"""
_REPAINT = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Until the page has heard of another theme and its styles are in force."""
_NOT_FAULTS = ("Failed to load resource",)
"""What the browser writes on the console for each answer of 400 and above; views show these."""
_BLOCKED_IN_FRAME = re.compile(
    r"Blocked script execution in '[^']*/_/frame' because"
    r"|Loading the image '[^']*' violates .* directive: \"img-src data: blob:\""
)
"""What it writes when the frame of foreign HTML stops a script or a request of this HTML: that is what the frame is for."""


@dataclass
class DashboardWindow:
    """A window. `page` is Playwright's; `faults` are what fails the test."""

    page: Page
    url: str
    secrets: tuple[str, ...]
    faults: list[str] = field(default_factory=list)
    _checks: set[asyncio.Task[None]] = field(default_factory=set)

    async def open(self, path: str = "") -> None:
        """Show a page of the dashboard, as `tables/public/posts?sort=id`, and wait for its title."""
        await self.page.goto(f"{self.url}/_/{path}")
        await self.page.locator("h1").first.wait_for()

    async def check_accessibility(self) -> None:
        """Fail if axe-core finds something on the page as it is, in one of the themes."""
        for theme in THEMES:
            await self.show_theme(theme)
            found = await self.run_axe()
            assert found == [], f"{theme}:\n" + "\n".join(found)
        await self.page.emulate_media(color_scheme="null", reduced_motion="null")

    async def show_theme(self, theme: str) -> None:
        """Show the page in a theme, `light` or `dark`, without motion."""
        await self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]  # the theme is a plain text here
        await self.page.evaluate(_REPAINT)

    async def run_axe(self) -> list[str]:
        """Return what axe-core finds on the page as it is: rule, what is wrong, where."""
        if not await self.page.evaluate("'axe' in window"):
            await self.page.evaluate(_AXE.read_text())
        result: dict[str, Any] = await self.page.evaluate(
            "(options) => axe.run({ exclude: [['[data-live-announcer]']] }, { ...options, resultTypes: ['violations'] })",
            {"runOnly": _LEVELS, "rules": {rule: {"enabled": True} for rule in _RULES}},
        )
        return [
            f"{rule['id']}: {rule['help']}: {node['html'][:200]} {node.get('failureSummary', '')}"
            for rule in result["violations"]
            for node in rule["nodes"]
        ]

    async def screenshot(self, name: str) -> None:
        """Write docs/images/dashboard/<name>-<theme>.png in both themes, if SCREENSHOTS is set in the environment.

        SCREENSHOTS=1 writes there; a folder in it is used instead.
        """
        target = os.environ.get("SCREENSHOTS")
        if not target:
            return
        folder = IMAGES if target == "1" else Path(target)
        folder.mkdir(parents=True, exist_ok=True)
        for theme in THEMES:
            await self.show_theme(theme)
            picture = await self.page.screenshot(caret="hide", animations="disabled")
            # 256 colours are enough for a page, and a third of the bytes.
            image = pyvips.Image.new_from_buffer(picture, "")
            image.pngsave(str(folder / f"{name}-{theme}.png"), palette=True, Q=90, effort=7)
        await self.page.emulate_media(color_scheme="null", reduced_motion="null")

    async def check_narrow(self) -> None:
        """Fail if the page needs sideways scrolling at a width of 360 px (WCAG 2.2, 1.4.10)."""
        before = self.page.viewport_size
        await self.page.set_viewport_size({"width": 360, "height": 740})
        widths = await self.page.evaluate(
            "[document.documentElement.scrollWidth, document.querySelector('.content')?.scrollWidth ?? 0]"
        )
        assert max(widths) <= 360, f"the page is {widths} px wide"
        if before is not None:
            await self.page.set_viewport_size(before)

    def watch(self) -> None:
        """Note faults of the page from now on."""
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.faults.append(f"not handled: {error}"))
        self.page.on("response", self._on_response)

    async def check_faults(self) -> None:
        """Fail if there was a fault."""
        if self._checks:
            await asyncio.wait(self._checks)
        assert self.faults == [], "\n".join(self.faults)

    def _on_console(self, message: ConsoleMessage) -> None:
        if _BLOCKED_IN_FRAME.match(message.text):
            return
        if message.type == "error" and not message.text.startswith(_NOT_FAULTS):
            self.faults.append(f"console: {message.text}")

    def _on_response(self, response: Response) -> None:
        task = asyncio.create_task(self._check_secrets(response))
        self._checks.add(task)
        task.add_done_callback(self._checks.discard)

    async def _check_secrets(self, response: Response) -> None:
        try:
            body = await response.body()
        except Exception:  # the page was left, or the answer has no body
            return
        self.faults.extend(
            f"a secret key is in the answer of {response.url}"
            for secret in self.secrets
            if secret.encode() in body
        )


@asynccontextmanager
async def open_window(
    browser: Browser, server: Platform, administrator: Administrator | None, **options: Any
) -> AsyncIterator[DashboardWindow]:
    """Open a window with the session of an administrator, or none; check its faults at the end."""
    context = await browser.new_context(
        **({"viewport": {"width": 1280, "height": 800}, "locale": "en-GB", "timezone_id": "UTC"} | options)
    )
    context.set_default_timeout(TIMEOUT_MS)
    await context.add_init_script(_REPORT)
    if administrator is not None:
        await sign_in(context, server, administrator)
    secrets = (server.values["SECRET_KEY"], server.values["SERVICE_ROLE_KEY"], server.values["JWT_SECRET"])
    window = DashboardWindow(await context.new_page(), server.url, secrets)
    window.watch()
    try:
        yield window
        await window.check_faults()
    finally:
        await context.close()


async def sign_in(context: BrowserContext, server: Platform, administrator: Administrator) -> None:
    """Give a context the session of an administrator."""
    await context.add_cookies(
        [
            {
                "name": "headwater_session",
                "value": administrator.cookie,
                "url": server.url,
                "httpOnly": True,
                "sameSite": "Strict",
            }
        ]
    )
