"""What a start finds out about the release that used the data before."""

import msgspec
import pytest

from schemas.releases import DowngradeLoss
from services.supervisor.data_folder.data_version import (
    FILE,
    DataVersion,
    begin_use,
    end_upgrade,
    read_data_version,
)
from services.supervisor.errors import StartRefused


def use(folder, version, *, has_data=True, accepts_downgrade=False):
    return begin_use(folder, version, has_data=has_data, accepts_downgrade=accepts_downgrade)


def test_an_upgrade_is_one_until_the_platform_was_ready(folder):
    assert use(folder, "0.2.0", has_data=False) == ""
    assert use(folder, "0.2.0") == ""

    assert [use(folder, "0.3.0"), use(folder, "0.3.0")] == ["0.2.0", "0.2.0"]
    end_upgrade(folder)

    assert use(folder, "0.3.0") == ""


def test_data_without_a_record_is_of_the_first_release(folder):
    assert use(folder, "0.2.0") == "0.1.0"


def test_newer_data_is_refused_with_what_would_be_lost(folder):
    newer = DataVersion("0.10.0", [DowngradeLoss("0.2.0", "kept"), DowngradeLoss("0.10.0", "the new thing")])
    (folder.path / FILE).write_bytes(msgspec.json.encode(newer))

    with pytest.raises(StartRefused, match=r"0\.10\.0.*0\.9\.0.*--accept-downgrade") as refused:
        use(folder, "0.9.0")

    assert refused.value.exit_code == 2
    assert "the new thing" in str(refused.value)
    assert "kept" not in str(refused.value)
    assert read_data_version(folder) == newer
    assert use(folder, "0.9.0", accepts_downgrade=True) == ""
    assert use(folder, "0.9.0") == ""
    assert use(folder, "0.10.0") == "0.9.0"


def test_a_folder_of_sources_cannot_be_compared(folder):
    use(folder, "0.2.0", has_data=False)

    assert use(folder, "of a source folder") == ""
