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
    pytest.mark.process_group("clients"),
    pytest.mark.timeout(120),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]


@pytest.fixture(scope="module")
def wishes(accounts: Platform) -> Platform:
    """The platform with the tables of these tests."""
    done = accounts.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(HERE / "graphql_schema.sql"))
    assert done.returncode == 0, done.stderr
    accounts.wait_for_catalog("wish")
    return accounts


@pytest.mark.usefixtures("node_modules")
@pytest.mark.parametrize(
    "file", ["graphql.test.mjs", "graphql-ws.test.mjs"], ids=["requests", "subscriptions"]
)
def test_clients_ask_write_page_introspect_and_subscribe(
    wishes: Platform, tokens: dict[str, str], file: str
) -> None:
    done = subprocess.run(
        ["node", "--test", "--test-reporter=tap", file],
        cwd=HERE,
        env={**os.environ, **wishes.values, **tokens},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
