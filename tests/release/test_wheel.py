"""What a release consists of: all data files in the wheel, nothing else, and the lists of what it stands on are current.

That the wheel works where it is installed is tried by `scripts/try-release`, which `.ci/run` calls.
"""

import json
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from workers.management.areas.documentation import NOT_SHIPPED

ROOT = Path(__file__).parents[2]
PACKAGES = ("services", "broker", "schemas", "workers")
"""Folders of the repository; in the wheel they lie inside of `headwater`."""
SOURCES_OF_PAGES = ROOT / "services" / "dashboard" / "web"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the files in a wheel that is built now."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


def test_every_file_of_the_packages_is_in_the_wheel(members: set[str]) -> None:
    there = {
        str(Path("headwater") / path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.is_relative_to(SOURCES_OF_PAGES)
    }

    assert sorted(there - members) == []
    assert {"headwater/__init__.py", "headwater/__main__.py", "headwater/command.py"} <= members


def test_nothing_else_is_in_the_wheel(members: set[str]) -> None:
    data, info = f"headwater-{VERSION}.data/", f"headwater-{VERSION}.dist-info/"
    others = sorted(
        each for each in members if each.split("/")[0] != "headwater" and not each.startswith(info)
    )

    pages = sorted(page.name for page in (ROOT / "docs").glob("*.md") if page.stem not in NOT_SHIPPED)
    assert others == [
        *(f"{data}data/share/headwater/docs/{page}" for page in pages),
        f"{data}data/share/headwater/grafana.json",
        f"{data}data/share/headwater/prometheus.yml",
    ]
    assert {f"{info}licenses/LICENSE", f"{info}licenses/THIRD_PARTY_LICENSES.md"} <= members


def test_the_version_stands_in_one_place() -> None:
    sources = {path for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    sources -= {ROOT / "schemas" / "releases.py"}  # what each release brought

    assert [str(path) for path in sources if f'"{VERSION}"' in path.read_text(encoding="utf-8")] == []


def test_the_list_of_licences_is_current() -> None:
    done = _third_party("--check")

    assert done.returncode == 0, done.stderr


def test_the_bill_of_materials_has_every_package_and_what_it_needs(tmp_path: Path) -> None:
    done = _third_party("--bom", str(tmp_path / "bom.json"))

    assert done.returncode == 0, done.stderr
    bill = json.loads((tmp_path / "bom.json").read_text())
    known = {each["bom-ref"] for each in bill["components"]}
    assert {each for entry in bill["dependencies"] for each in entry["dependsOn"]} == known
    assert all(each["licenses"] for each in bill["components"])
    assert {"aiohttp", "asyncpg", "nats-py"} <= {each["name"] for each in bill["components"]}


def _third_party(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "third-party"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
