"""What a restore to a moment refuses before it reads anything. The restore itself is tried in tests/platforms/test_recovery.py."""

from pathlib import Path

import pytest

from tests.platform import headwater


@pytest.mark.parametrize("moment", [["--to", "2 hours ago"], []])
def test_a_data_folder_for_a_platform_with_an_outside_database_is_refused_with_the_commands(
    tmp_path: Path, moment: list[str]
) -> None:
    done = headwater(
        "restore", *moment, "--switch", "--into", str(tmp_path / "restored"), "--data", str(tmp_path / "data"),
        "--project", str(tmp_path), environment={"HEADWATER_DB_URL": "postgresql://a:secret@db.internal/postgres"},
    )  # fmt: skip

    assert done.returncode == 2
    assert "uses an outside database (db.url)" in done.stderr
    assert (
        f"HEADWATER_DB_URL= headwater start --detach --data {tmp_path / 'restored'} --port 0" in done.stderr
    )
    assert f"headwater restore --force {tmp_path / 'restored'}-backup" in done.stderr
    assert "secret" not in done.stderr
    assert not (tmp_path / "restored").exists()
