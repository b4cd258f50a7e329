"""The script of examples/gallery does what it says, and its page opens what it shows."""

import html
import os
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.platform import Platform
from tests.workers.images.samples import opened

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "gallery"

pytestmark = [
    pytest.mark.node,
    pytest.mark.process_group("clients"),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not on this machine"),
]


@pytest.fixture
def folder(node_modules: None, tmp_path: Path) -> Path:
    """A copy of the example, beside the clients of the tests."""
    whole = shutil.copytree(EXAMPLE, tmp_path / "gallery", ignore=shutil.ignore_patterns("node_modules"))
    (whole / "node_modules").symlink_to(HERE / "node_modules")
    return whole


def run(folder: Path, values: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the script with what `status` prints about a platform."""
    return subprocess.run(
        ["node", "gallery.mjs"],
        cwd=folder,
        env={**os.environ, **values},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_gallery_shows_its_pictures_twice_over(folder: Path, client_platform: Platform) -> None:
    policies = client_platform.command("psql", "-v", "ON_ERROR_STOP=1", "-qf", str(folder / "schema.sql"))
    assert policies.returncode == 0, policies.stderr

    for _ in range(2):
        done = run(folder, client_platform.values)
        assert done.returncode == 0, done.stdout + done.stderr

    assert "a stranger sees nothing" in done.stdout
    assert done.stdout.splitlines()[-1] == "gallery.html shows 3 pictures for an hour"
    shown = re.findall(r'src="([^"]+)"', (folder / "gallery.html").read_text())
    with urllib.request.urlopen(html.unescape(shown[0]), timeout=30) as answer:
        picture = opened(answer.read())
    assert (len(shown), picture.width, picture.height) == (3, 320, 320)


def test_the_gallery_without_a_platform_says_what_is_missing(folder: Path) -> None:
    done = run(folder, {"API_URL": ""})

    assert (done.returncode, done.stdout) == (2, "")
    assert "headwater status" in done.stderr
