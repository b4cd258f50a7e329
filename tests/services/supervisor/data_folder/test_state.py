import os

from services.supervisor.data_folder.folder import lock_folder
from services.supervisor.data_folder.state import (
    ChildState,
    PlatformState,
    read_state,
    remove_state,
    running_state,
    uptime,
    write_state,
)

STATE = PlatformState(
    "1", 7, "running", 0.0, "/d", "/p", None, {"db": 1}, {"DB_URL": "x"}, [ChildState("nats", "running", 8)]
)


def test_a_state_is_read_back_and_private(folder):
    write_state(folder, STATE)

    assert read_state(folder) == STATE
    assert folder.state.stat().st_mode & 0o777 == 0o600


def test_only_a_locked_folder_has_a_running_state(folder):
    write_state(folder, STATE)
    assert running_state(folder) is None

    held = lock_folder(folder)

    assert running_state(folder) == STATE
    os.close(held)


def test_a_missing_or_broken_state_is_none(folder):
    remove_state(folder)
    assert read_state(folder) is None

    folder.state.write_text("{")

    assert read_state(folder) is None


def test_a_clock_that_was_set_back_gives_no_negative_uptime():
    assert uptime(ChildState("x", "running", since=1e12)) == 0
