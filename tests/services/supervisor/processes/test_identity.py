import os
import signal
import subprocess
import sys

import pytest

from services.supervisor.processes.identity import command_of, identity, is_alive, terminate

STUBBORN = "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"


def test_a_process_is_itself_until_it_ends():
    child = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    child.stdout.readline()
    born = identity(child.pid)

    assert is_alive(child.pid, born)
    assert "input()" in command_of(child.pid)
    assert not is_alive(child.pid, "another birth")

    child.communicate(b"\n")
    assert not is_alive(child.pid, born)


@pytest.mark.skipif(not os.path.exists("/bin/ps"), reason="as on macOS, which has no /proc")
def test_ps_shows_the_same_identity_in_every_time_zone_and_none_of_a_zombie(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    in_tokyo = identity(os.getpid())
    monkeypatch.setenv("TZ", "UTC")
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    zombie = identity(child.pid)
    child.wait()

    assert in_tokyo is not None
    assert identity(os.getpid()) == in_tokyo
    assert zombie is None


def test_a_process_that_does_not_listen_is_ended_by_the_next_signal():
    child = subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE)
    child.stdout.readline()

    assert terminate(child.pid, identity(child.pid), [(signal.SIGTERM, 0.1), (signal.SIGKILL, 10)])

    child.communicate()
    assert child.returncode == -signal.SIGKILL


def test_a_process_of_another_birth_is_left_alone():
    assert terminate(os.getpid(), "another birth", [(signal.SIGKILL, 0)])
