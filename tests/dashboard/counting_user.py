"""Users whose clicks, fields and keys are counted by step: one with a mouse, one with a keyboard alone."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from playwright.async_api import Locator

from tests.dashboard.window import DashboardWindow

Modifier = Literal["Alt", "Control", "ControlOrMeta", "Meta", "Shift"]
_MOST_KEYS = 250
"""Keys on the way to one control; more of them mean that it cannot be reached."""
_STEP = """(target) => {
  if (!target.isConnected) return 'gone';
  const at = document.activeElement;
  const row = target.closest('[role=grid][aria-activedescendant] [role=row]');
  const grid = row?.closest('[role=grid]');
  if (grid && at === grid) {
    const active = document.getElementById(grid.getAttribute('aria-activedescendant'));
    if (active && (active === target || active.contains(target) || (target === row && row.contains(active)))) return 'there';
    const here = Number(active?.closest('[role=row]')?.getAttribute('aria-rowindex') ?? 1);
    const there = Number(row.getAttribute('aria-rowindex'));
    if (here !== there) return here < there ? 'ArrowDown' : 'ArrowUp';
    return active.compareDocumentPosition(target) & Node.DOCUMENT_POSITION_FOLLOWING ? 'ArrowRight' : 'ArrowLeft';
  }
  const control = target.closest(
    'a, button, input, textarea, select, summary, [contenteditable=true], [role=row], [role=menuitem], [role=option], [role=tab]'
  ) ?? target.closest('label')?.querySelector('input') ?? target.querySelector('input, textarea, button, [contenteditable=true]') ?? grid ?? target;
  if (at === control || (at !== document.body && control.matches('label, [role=group]') && control.contains(at))) return 'there';
  if (at.getAttribute('aria-activedescendant') && at.getAttribute('aria-activedescendant') === control.id) return 'there';
  const order = at.compareDocumentPosition(grid ?? control);
  const isBefore = (order & Node.DOCUMENT_POSITION_PRECEDING) !== 0;
  const around = at.closest('[role=menu], [role=listbox], [role=tablist], [role=grid]');
  if (at.getAttribute('aria-expanded') === 'true' && at.getAttribute('aria-controls') && control.matches('[role=option]')) return 'ArrowDown';
  if (around?.contains(control) && around !== at && at.matches('[role=tab]')) return isBefore ? 'ArrowLeft' : 'ArrowRight';
  if (around?.contains(control) && around !== at && at.matches('[role=row], [role=menuitem], [role=option]') && !at.contains(control)) {
    return isBefore ? 'ArrowUp' : 'ArrowDown';
  }
  return isBefore ? 'Shift+Tab' : 'Tab';
}"""
"""The next key on the way from where the focus is to a target: Tab to its control, arrows within a menu, a list, tabs or a grid."""
_IS_TICKED = "() => document.activeElement.matches('input[type=checkbox], input[type=radio], [role=switch], [role=checkbox]')"
_FOCUSED = """() => {
  const at = document.activeElement;
  return `${at.tagName.toLowerCase()} ${at.getAttribute('aria-label') ?? at.innerText?.slice(0, 40) ?? ''}`;
}"""


class NotReached(AssertionError):
    """A control that keys alone do not reach."""


@dataclass
class CountingUser:
    """A user with a mouse and a keyboard."""

    window: DashboardWindow
    step: str = ""
    clicks: dict[str, int] = field(default_factory=dict)
    fields: dict[str, int] = field(default_factory=dict)
    keys: int = 0
    """Keys beside those of the typed text."""

    async def begin(self, step: str) -> None:
        """Name what is done next."""
        await self.keep_picture()
        self.step = step
        self.clicks[step], self.fields[step] = 0, 0

    async def keep_picture(self) -> None:
        """Keep a picture of the page after a step, with SCREENSHOTS set."""
        if self.step and os.environ.get("SCREENSHOTS"):
            await self.window.screenshot(f"journey-{len(self.clicks)}")

    async def click(self, target: Locator, modifiers: Sequence[Modifier] = ()) -> None:
        """Click once, with these keys held."""
        self.clicks[self.step] += 1
        await self._activate(target, modifiers)

    async def press(self, name: str, role: str = "button") -> None:
        """Click what has this name."""
        await self.click(self.window.page.get_by_role(role, name=name, exact=True).last)  # type: ignore[arg-type]  # a role is a plain text here

    async def type(self, target: Locator, text: str) -> None:
        """Fill a field."""
        self.fields[self.step] += 1
        await self._fill(target, text)

    async def press_keys(self, *names: str) -> None:
        """Press keys where the focus is."""
        for name in names:
            self.keys += 1
            await self.window.page.keyboard.press(name)

    async def choose_file(self, target: Locator, name: str, data: bytes) -> None:
        """Choose a file in the dialog of the browser that a control opens."""
        async with self.window.page.expect_file_chooser() as chooser:
            await self.click(target)
        await (await chooser.value).set_files(
            {"name": name, "mimeType": "application/octet-stream", "buffer": data}
        )

    async def _activate(self, target: Locator, modifiers: Sequence[Modifier]) -> None:
        await target.click(modifiers=list(modifiers))

    async def _fill(self, target: Locator, text: str) -> None:
        await target.fill(text)

    @property
    def all_clicks(self) -> int:
        """Clicks of all steps."""
        return sum(self.clicks.values())

    @property
    def all_fields(self) -> int:
        """Fields that were filled in all steps."""
        return sum(self.fields.values())

    def report(self) -> str:
        """Return the table of steps."""
        lines = [f"{'step':<60} clicks fields"]
        lines += [
            f"{step:<60} {self.clicks[step]:>6} {self.fields[step]:>6}"
            for step in self.clicks
            if self.clicks[step] or self.fields[step]
        ]
        return "\n".join([*lines, f"{'all':<60} {self.all_clicks:>6} {self.all_fields:>6}"])


class KeyboardUser(CountingUser):
    """A user without a mouse: Tab and arrows to a control, Enter or Space on it."""

    async def reach(self, target: Locator) -> None:
        """Move the focus to a control. Raises: NotReached, with the control and where the focus is."""
        # An element, not a name: a list that opens where the focus comes by hides all names beside it from assistive technology.
        control = await target.element_handle()
        for _ in range(_MOST_KEYS):
            key = await control.evaluate(_STEP)
            if key == "there":
                return
            if key == "gone":  # the page was drawn again
                control = await target.element_handle()
            else:
                await self.press_keys(key)
        at = await self.window.page.evaluate(_FOCUSED)
        raise NotReached(f"{self.step}: {target} is not reached; the focus is at {at!r}")

    async def _activate(self, target: Locator, modifiers: Sequence[Modifier]) -> None:
        assert not modifiers, "a user without a mouse presses keys instead"
        await self.reach(target)
        await self.press_keys("Space" if await self.window.page.evaluate(_IS_TICKED) else "Enter")

    async def _fill(self, target: Locator, text: str) -> None:
        await self.reach(target)
        await self.press_keys("Control+a")
        await self.window.page.keyboard.insert_text(text)
