"""The client of resumable uploads that applications use, on a running platform. Needs Node (skipped only where it is absent)."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import block
from tests.platform import Platform

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "storage-resumable.md"

pytestmark = [
    pytest.mark.node,
    pytest.mark.process_group("clients"),
    pytest.mark.timeout(240),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]


@pytest.mark.usefixtures("node_modules")
def test_tus_js_client_uploads_all_that_it_can(stored: Platform) -> None:
    done = subprocess.run(
        ["node", "--test", "--test-reporter=tap", "storage-resumable.test.mjs"],
        cwd=HERE,
        env={**os.environ, **stored.values},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.usefixtures("node_modules")
def test_the_example_of_the_manual_uploads_a_film(stored: Platform, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(HERE / "node_modules")
    (tmp_path / "upload.mjs").write_text(block(PAGE.read_text(), "js", "tus-js-client"))
    (tmp_path / "film.mp4").write_bytes(os.urandom(9_000_000))

    done = subprocess.run(
        ["node", "upload.mjs", "film.mp4", "papers"],
        cwd=tmp_path,
        env={**os.environ, **stored.values},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "film.mp4: 9000000 bytes are there" in done.stdout
