import subprocess
import sys

from services.supervisor.identity import identity
from services.supervisor.leftovers import end_leftovers
from services.supervisor.state import ChildState, State, write_state


def state_of(children):
    return State("1", 1, "running", 0.0, "/d", "/p", None, {}, {}, children)


def test_children_of_a_killed_supervisor_are_ended(folder, notes):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    write_state(folder, state_of([ChildState("pools", "running", child.pid, identity(child.pid))]))

    end_leftovers(folder, notes)

    child.communicate()
    assert child.returncode != 0
    assert notes.lines == [f"Stopping pools (process {child.pid}), left over from an earlier run"]
    assert not folder.state.exists()


def test_a_process_that_only_has_the_same_id_is_left_alone(folder, notes):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    write_state(folder, state_of([ChildState("pools", "running", child.pid, "another birth")]))

    end_leftovers(folder, notes)

    child.communicate(b"\n")
    assert child.returncode == 0
    assert notes.lines == []
