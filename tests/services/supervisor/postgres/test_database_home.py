import tempfile

import pytest

from services.supervisor.data_folder.folder import create_data_folder
from services.supervisor.errors import StartRefused
from services.supervisor.postgres import database_home

WEEK_S = 7 * 24 * 3600.0


@pytest.fixture
def shared(tmp_path):
    return tmp_path / "shared"


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Let the folders of this test count as lasting ones."""
    (tmp_path / "t").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "t"))
    return tmp_path


def test_a_data_folder_keeps_its_home(folder, shared):
    home = database_home.outside_home(folder, shared)

    assert database_home.outside_home(folder, shared) == home
    assert database_home.pointed_home(folder) == home
    assert (home / "owner").read_text().strip() == str(folder.path)


def test_a_moved_data_folder_takes_its_home_along(folder, shared, open_tmp):
    home = database_home.outside_home(folder, shared)
    folder.path.rename(open_tmp / "moved")
    moved = create_data_folder(open_tmp / "moved")

    assert database_home.outside_home(moved, shared) == home
    assert (home / "owner").read_text().strip() == str(moved.path)


def test_a_copied_data_folder_is_refused(folder, shared, open_tmp):
    database_home.outside_home(folder, shared)
    copy = create_data_folder(open_tmp / "copy")
    copy.cluster_pointer.write_text(folder.cluster_pointer.read_text())

    with pytest.raises(StartRefused, match="is a copy of"):
        database_home.outside_home(copy, shared)


def test_a_home_that_is_gone_is_told_and_not_made_anew(folder, shared):
    database_home.outside_home(folder, shared).rename(shared / "away")

    with pytest.raises(StartRefused, match="is missing"):
        database_home.outside_home(folder, shared)


def test_the_home_of_a_temporary_folder_that_is_gone_is_swept_at_once(folder, shared, notes):
    home = database_home.outside_home(folder, shared)
    database_home.remove_abandoned_homes(notes.info, shared)
    assert home.exists()

    folder.cluster_pointer.unlink()
    database_home.remove_abandoned_homes(notes.info, shared)

    assert not home.exists()
    assert str(folder.path) in notes.lines[0]


def test_the_home_of_a_lasting_folder_waits_a_week(elsewhere, shared, notes):
    folder = create_data_folder(elsewhere / "project")
    home = database_home.outside_home(folder, shared)
    folder.path.rename(elsewhere / "unmounted")

    database_home.remove_abandoned_homes(notes.info, shared, now=1000.0)
    database_home.remove_abandoned_homes(notes.info, shared, now=1000.0 + WEEK_S)
    assert home.exists()
    database_home.remove_abandoned_homes(notes.info, shared, now=1001.0 + WEEK_S)

    assert not home.exists()


@pytest.mark.parametrize("mark", ["", "no number", f"{9 * WEEK_S}"])
def test_a_mark_that_was_cut_off_or_is_of_the_future_is_written_again(elsewhere, shared, notes, mark):
    folder = create_data_folder(elsewhere / "project")
    home = database_home.outside_home(folder, shared)
    folder.path.rename(elsewhere / "unmounted")
    (home / "orphan").write_text(mark)

    database_home.remove_abandoned_homes(notes.info, shared, now=1000.0)
    assert (home / "orphan").read_text() == "1000.0\n"
    database_home.remove_abandoned_homes(notes.info, shared, now=1001.0 + WEEK_S)

    assert not home.exists()


def test_a_folder_that_comes_back_keeps_its_home(elsewhere, shared, notes):
    folder = create_data_folder(elsewhere / "project")
    home = database_home.outside_home(folder, shared)
    folder.path.rename(elsewhere / "unmounted")
    database_home.remove_abandoned_homes(notes.info, shared, now=1000.0)
    (elsewhere / "unmounted").rename(folder.path)

    database_home.remove_abandoned_homes(notes.info, shared, now=1001.0 + WEEK_S)

    assert home.exists()
    assert not (home / "orphan").exists()


def test_a_home_that_is_held_is_left_alone(folder, shared, notes):
    home = database_home.outside_home(folder, shared)
    folder.cluster_pointer.unlink()
    database_home.lock_home(home)

    database_home.remove_abandoned_homes(notes.info, shared)

    assert home.exists()


def test_a_short_lived_home_is_left_alone_while_it_is_used_and_gone_afterwards(folder, shared, elsewhere):
    with database_home.short_lived_home(folder, shared) as home:
        database_home.remove_abandoned_homes(lambda _: None, shared, now=2 * WEEK_S)
        assert home.is_dir()

    assert not home.exists()


def test_a_short_lived_home_that_a_killed_process_left_is_swept(folder, shared, elsewhere):
    with database_home.short_lived_home(folder, shared) as home:
        copy = home.with_name("left")
        copy.mkdir()
        (copy / "owner").write_text((home / "owner").read_text())

    database_home.remove_abandoned_homes(lambda _: None, shared, now=0)
    database_home.remove_abandoned_homes(lambda _: None, shared, now=2 * WEEK_S)
    assert not copy.exists()
