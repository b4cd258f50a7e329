"""The page about observations and the code agree: every observation is there, with its level, and nothing else."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("services", "broker", "schemas", "workers")
PAGE = (ROOT / "docs/observability.md").read_text(encoding="utf-8")
USUAL = "info"


def in_code() -> dict[str, str]:
    """Give every kind of observation with its level, read from the sources."""
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and any(
                    isinstance(base, ast.Name) and base.id == "Observation" for base in node.bases
                ):
                    found[node.name] = level_of(node)
    return found


def level_of(node: ast.ClassDef) -> str:
    """Give the level that a class sets, or the usual one."""
    for line in node.body:
        if (
            isinstance(line, ast.AnnAssign)
            and isinstance(line.target, ast.Name)
            and line.target.id == "level"
        ):
            assert isinstance(line.value, ast.Constant)
            return str(line.value.value)
    return USUAL


def in_page() -> dict[str, str]:
    """Give what the table lists, with the words of its column of levels."""
    rows = re.findall(r"^\| (`[A-Z][^|]*) \| ([^|]+) \|", PAGE, re.MULTILINE)
    return {name: levels for names, levels in rows for name in re.findall(r"`(\w+)`", names)}


def test_every_observation_stands_in_the_page_and_nothing_else():
    assert sorted(in_page()) == sorted(in_code())


def test_levels_are_those_of_the_code():
    page = in_page()

    wrong = [f"{name}: {level}" for name, level in in_code().items() if level not in page.get(name, level)]

    assert wrong == []
