"""The release that the packages, the chart and the changelog name is one."""

import re
import tomllib
from pathlib import Path

from schemas.releases import LOSSES, release_number

ROOT = Path(__file__).parents[2]


def test_package_chart_and_changelog_name_one_release() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    chart = (ROOT / "deploy" / "helm" / "headwater" / "Chart.yaml").read_text()
    released = re.findall(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert re.findall(r'^(?:version|appVersion): "?([\d.]+)"?$', chart, re.MULTILINE) == [version, version]
    assert released[0] == version
    assert all((release_number(loss.since) or ()) <= (release_number(version) or ()) for loss in LOSSES)


def test_releases_are_ordered_by_their_numbers() -> None:
    numbers = [release_number(text) for text in ("0.2.0", "0.10.0", "1.0")]

    assert all(number is not None for number in numbers)
    assert numbers == sorted(numbers, key=lambda number: number or ())
    assert release_number("of a source folder") is None
    assert release_number("0.2.0rc1") is None
