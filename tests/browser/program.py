"""Chromium of this machine, and what a test does where there is none."""

import os
import shutil

import pytest

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-default-apps", "--disable-sync", "--no-first-run", "--disable-dev-shm-usage",
)  # fmt: skip


def require_chromium() -> str:
    """Return Chromium's path. Skip the test where it is missing, or fail it with `BROWSER=required` in the environment."""
    if PROGRAM is not None:
        return PROGRAM
    reason = "no Chromium is installed (on Debian: apt install chromium)"
    if os.environ.get("BROWSER") == "required":
        pytest.fail(f"{reason}, and BROWSER=required demands it")
    pytest.skip(reason)
