import os
import subprocess
import sys

import pytest

from services.supervisor.data_folder.state import ChildState, PlatformState, write_state
from services.supervisor.errors import StartFailed
from services.supervisor.postgres.cluster import Cluster
from services.supervisor.processes import leftovers
from services.supervisor.processes.identity import identity
from services.supervisor.processes.leftovers import stop_leftovers, stop_stray_server


def state_of(children):
    return PlatformState("1", 1, "running", 0.0, "/d", "/p", None, {}, {}, children)


def test_children_of_a_killed_supervisor_are_ended(folder, notes):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    write_state(folder, state_of([ChildState("pools", "running", child.pid, identity(child.pid))]))

    stop_leftovers(folder, notes)

    child.communicate()
    assert child.returncode != 0
    assert notes.lines == [f"Stopping pools (process {child.pid}), left over from an earlier run"]
    assert not folder.state.exists()


def test_a_process_that_only_has_the_same_id_is_left_alone(folder, notes):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    write_state(folder, state_of([ChildState("pools", "running", child.pid, "another birth")]))

    stop_leftovers(folder, notes)

    child.communicate(b"\n")
    assert child.returncode == 0
    assert notes.lines == []


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path, tmp_path, None)
    cluster.data.mkdir()
    return cluster


@pytest.fixture
def remains():
    """The id of a process that has ended and that nobody has reaped."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    yield pid
    os.waitpid(pid, 0)


def test_a_lock_file_that_names_the_remains_of_a_server_is_removed(cluster, remains, notes, monkeypatch):
    monkeypatch.setattr(leftovers, "_REAPED_S", 0.1)
    lock = cluster.data / "postmaster.pid"
    lock.write_text(f"{remains}\n{cluster.data}\n")

    stop_stray_server(cluster, notes)

    assert not lock.exists()
    assert notes.lines == [f"Removing the lock file of a database server that was killed (process {remains})"]


def test_a_lock_file_that_names_another_program_is_removed(cluster, notes):
    lock = cluster.data / "postmaster.pid"
    lock.write_text(f"{os.getpid()}\n{cluster.data}\n")

    stop_stray_server(cluster, notes)

    assert not lock.exists()


def test_a_lock_file_stays_while_a_process_works_in_the_data_folder(cluster, notes, monkeypatch):
    monkeypatch.setattr(leftovers, "_VACATED_S", 0.1)
    lock = cluster.data / "postmaster.pid"
    lock.write_text(f"{os.getpid()}\n{cluster.data}\n")
    backend = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, cwd=cluster.data)

    with pytest.raises(StartFailed, match=str(backend.pid)):
        stop_stray_server(cluster, notes)

    backend.communicate(b"\n")
    assert lock.exists()


def test_a_lock_file_of_a_process_that_is_gone_is_left_to_the_server(cluster, notes):
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    lock = cluster.data / "postmaster.pid"
    lock.write_text(f"{child.pid}\n{cluster.data}\n")

    stop_stray_server(cluster, notes)

    assert lock.exists()
    assert notes.lines == []
