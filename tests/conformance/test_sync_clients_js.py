"""The published clients of shapes on a running platform: the plain one in two versions, React, TanStack DB; PGlite by hand."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.node_packages import install_packages
from tests.platform import Platform

CLIENTS, PGLITE = (Path(__file__).parent / name for name in ("sync_clients", "sync_pglite"))

pytestmark = [
    pytest.mark.node,
    pytest.mark.process_group("clients"),
    pytest.mark.timeout(240),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]


@pytest.fixture(scope="module")
def tables(client_platform: Platform) -> Platform:
    """The platform with the tables of these tests."""
    done = client_platform.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(CLIENTS / "sync_schema.sql"))
    assert done.returncode == 0, done.stderr
    client_platform.wait_for_catalog("sync_notes")
    return client_platform


def test_every_client_follows_rows_and_rights(tables: Platform) -> None:
    run(tables, CLIENTS / "sync.test.mjs")


def test_pglite_follows_rows_and_rights(tables: Platform) -> None:
    run(tables, PGLITE / "pglite.test.mjs")


def run(tables: Platform, file: Path) -> None:
    """Run a file of node's tests. Raises: AssertionError with their output."""
    install_packages(file.parent)
    done = subprocess.run(
        ["node", "--test", "--test-force-exit", "--test-reporter=tap", file.name],
        cwd=file.parent,
        env={**os.environ, **tables.values},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
