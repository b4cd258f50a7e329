"""The documentation builds without a warning, and a reader's browser fetches nothing from elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

pytestmark = pytest.mark.timeout(900)  # 25 s of CPU, on machines that do much else

_FETCHED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"([^\"]*)|<link\b[^>]*\bhref=\"([^\"]*)")
_ABROAD = re.compile(r"(https?:)?//")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "--quiet",
        "--fail-on-warning",
        "--keep-going",
        "docs",
        str(folder),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}

    assert pages <= {path.stem for path in site.glob("*.html")}


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    fetched = [
        first or second
        for page in site.glob("*.html")
        for first, second in _FETCHED.findall(page.read_text(encoding="utf-8"))
    ]
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]

    assert [each for each in fetched if _ABROAD.match(each)] == []
    assert [each for each in styles if re.search(r"@import|url\(['\"]?(https?:)?//", each)] == []


def test_language_models_find_every_page_in_two_texts(site: Path) -> None:
    listed = (site / "llms.txt").read_text(encoding="utf-8")
    whole = (site / "llms-full.txt").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([\w/-]+\.html)\): \S", listed)
    pages = [path for path in (ROOT / "docs").glob("*.md") if path.name not in ("index.md", "changelog.md")]

    assert {f"{path.stem}.html" for path in pages} <= set(links)
    assert all((site / link).is_file() for link in links)
    assert all(path.read_text(encoding="utf-8").strip() in whole for path in pages)
