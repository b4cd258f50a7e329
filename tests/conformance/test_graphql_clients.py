"""Clients of GraphQL that applications use, on a running platform. Needs Node (skipped only where it is absent)."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.platform import Platform

HERE = Path(__file__).parent

pytestmark = [
    pytest.mark.node,
    pytest.mark.xdist_group("clients"),
    pytest.mark.timeout(120),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]


@pytest.mark.usefixtures("node_modules")
def test_clients_ask_write_page_and_introspect(accounts: Platform, tokens: dict[str, str]) -> None:
    done = accounts.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(HERE / "graphql_schema.sql"))
    assert done.returncode == 0, done.stderr
    accounts.wait_for_catalog("wish")
    done = subprocess.run(
        ["node", "--test", "--test-reporter=tap", "graphql.test.mjs"],
        cwd=HERE,
        env={**os.environ, **accounts.values, **tokens},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
