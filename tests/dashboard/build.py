"""The built dashboard that platforms of tests serve."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WEB = ROOT / "services" / "dashboard" / "web"
STATIC = ROOT / "services" / "dashboard" / "static"
_BUILD_S = 300


def require_build() -> None:
    """Build the dashboard unless it is built of these sources. Skip the test where it cannot be built, or fail it with
    `BROWSER=required` in the environment.
    """
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "dashboard")],
        capture_output=True, text=True, timeout=_BUILD_S, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return
    if os.environ.get("BROWSER") == "required":
        pytest.fail(f"{done.stderr}\nBROWSER=required demands the dashboard")
    pytest.skip(f"the dashboard cannot be built here, for example without npm packages: {done.stderr}")
