"""Official and common JavaScript packages beside supabase-js on running platforms. Needs Node (skipped only where it is absent).

@supabase/ssr keeps sessions in cookies, on web servers; @refinedev/supabase is the data provider of admin panels.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.platform import Platform

HERE = Path(__file__).parent

pytestmark = [
    pytest.mark.node,
    pytest.mark.process_group("clients"),
    pytest.mark.timeout(240),
    pytest.mark.usefixtures("node_modules"),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]


def _assert_passes(target: Platform, entry: str, **further: str) -> None:
    done = subprocess.run(
        ["node", "--test", "--test-reporter=tap", entry],
        cwd=HERE,
        env={**os.environ, **target.values, **further},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_ssr_carries_sessions_in_cookies(confirming_accounts: Platform, abroad: str) -> None:
    _assert_passes(confirming_accounts, "ssr.test.mjs", PROVIDER_URL=abroad)


def test_refine_reads_writes_and_follows_rows(accounts: Platform) -> None:
    done = accounts.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(HERE / "refine_schema.sql"))
    assert done.returncode == 0, done.stderr
    accounts.wait_for_catalog("shelf_items")

    _assert_passes(accounts, "refine.test.mjs")
