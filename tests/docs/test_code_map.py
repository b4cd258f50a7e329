"""What the pages about the code name is there, and the code map knows every folder."""

import re

import pytest

from tests.docs.pages import ROOT

_NAMED = re.compile(r"`((?:services|workers|broker|schemas|tests|scripts|examples|deploy)/[\w./*<>-]*)")
_OPENED = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
PACKAGES = ("services", "workers")


@pytest.mark.parametrize(
    "page", ["docs/code-map.md", "docs/security.md", "docs/comparison.md", "docs/decisions.md", "README.md"]
)
def test_a_file_that_a_page_names_is_there(page: str) -> None:
    named = {
        each.rstrip(":")
        for each in _NAMED.findall((ROOT / page).read_text(encoding="utf-8"))
        if "<" not in each
    }

    assert [each for each in sorted(named) if not list(ROOT.glob(each.rstrip("/")))] == []


def test_links_of_the_readme_lead_somewhere() -> None:
    for link in _OPENED.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / link).exists(), link


def test_the_map_has_every_folder_of_the_packages() -> None:
    page = (ROOT / "docs" / "code-map.md").read_text(encoding="utf-8")
    folders = [
        f"{package}/{path.name}/"
        for package in PACKAGES
        for path in sorted((ROOT / package).iterdir())
        if (path / "__init__.py").exists()
    ]

    assert [each for each in folders if f"`{each}`" not in page] == []
