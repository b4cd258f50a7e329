"""Tests lie where what they test lies: the folders below `tests/` mirror the packages, and every package has tests.

A test module is named for its module, or for the behaviour of several: a rule, an endpoint, a crash.
"""

from pathlib import Path

ROOT = Path(__file__).parents[1]
AREAS = ("broker", "schemas", "services", "workers")


def _folders(root: Path, pattern: str) -> set[Path]:
    """Return the folders of the areas that have a file of this pattern, relative to a root."""
    return {
        file.parent.relative_to(root)
        for area in AREAS
        for file in (root / area).rglob(pattern)
        if not file.name.startswith("__")
    }


def test_a_folder_of_tests_is_named_for_a_package() -> None:
    folders = sorted(_folders(ROOT / "tests", "test_*.py"))

    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []


def test_a_package_has_tests_in_its_folder_or_in_the_one_above() -> None:
    tested = _folders(ROOT / "tests", "test_*.py")
    untested = [
        package
        for package in sorted(_folders(ROOT, "*.py"))
        if package not in tested and (package.parent not in tested or len(package.parts) == 1)
    ]

    assert untested == []
