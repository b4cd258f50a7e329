"""The folder of a shadow server."""

from pathlib import Path

from services.supervisor.postgres.shadow import home_inside


def test_each_shadow_has_its_folder_and_removes_what_killed_ones_left(tmp_path: Path) -> None:
    left = tmp_path / "shadow-1234"
    (left / "data").mkdir(parents=True)
    (left / "data" / "PG_VERSION").write_text("18")

    with home_inside(tmp_path) as first, home_inside(tmp_path) as second:
        assert first != second
        assert first.is_dir()
        assert second.is_dir()
        assert not left.exists()

    assert not list(tmp_path.glob("shadow-*"))
