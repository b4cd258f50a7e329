import os
import signal

import pytest

from services.supervisor.data_folder.folder import is_locked
from services.supervisor.data_folder.starting import start_options, starting_process
from tests.services.cli.conftest import SERVERS_ONLY, wait_until


def test_stopping_what_does_not_run_says_so_and_is_no_error(project_folder):
    stopped = project_folder.run("stop")

    assert stopped.returncode == 0
    assert "No platform is running" in stopped.stdout


def test_a_stop_waits_until_everything_has_ended(servers):
    stopped = servers.run("stop")

    assert stopped.returncode == 0
    assert stopped.stdout.startswith("Stopped after")
    assert servers.processes() == []


def test_a_stop_in_the_first_moment_of_a_start_waits_for_it_and_ends_it(project_folder):
    """The start is stopped by a signal while it loads its code, until `stop` has looked."""
    start = project_folder.begin("start", *SERVERS_ONLY)
    stop = None
    try:
        wait_until(lambda: starting_process(project_folder.data) == start.pid)
        os.kill(start.pid, signal.SIGSTOP)
        assert not is_locked(project_folder.data / "lock")
        stop = project_folder.begin("stop")
        said = stop.stdout.readline()
        os.kill(start.pid, signal.SIGCONT)
        rest, _ = stop.communicate(timeout=90)

        assert "A start has just begun" in said
        assert "Stopped after" in rest
        assert stop.returncode == 0
        start.communicate(timeout=60)
        wait_until(lambda: project_folder.processes() == [])
    finally:
        for process in (start, stop):
            if process is not None:
                process.kill()
                process.communicate()


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("/usr/bin/python /usr/bin/headwater start --data a -d", {"--data": "a"}),
        ("python -P -m services.cli.main start --project=b --data=c", {"--project": "b", "--data": "c"}),
        ("headwater start", {}),
        ("headwater stop --data start", None),
        ("vi headwater start.py", None),
        ("systemctl start headwater", None),
    ],
)
def test_a_start_is_known_by_its_command_line(line, options):
    assert start_options(line.split()) == options


@pytest.mark.parametrize(
    ("words", "environment", "data"),
    [
        ("start", "", ".headwater"),
        ("start --branch main", "", ".headwater"),
        ("start --branch a", "", ".headwater/branches/a"),
        ("start --branch=a --data .headwater", "", ".headwater/branches/a"),
        ("start --detach", "HEADWATER_BRANCH=a", ".headwater/branches/a"),
        ("start", "HEADWATER_DATA=other", "other"),
        ("start --branch ../x", "", None),
    ],
)
def test_a_start_is_of_the_branch_that_it_names(tmp_path, words, environment, data):
    """The supervisor of a branch keeps its command line: a `stop` of the platform itself must not wait for its end."""
    (tmp_path / ".headwater" / "logs").mkdir(parents=True)
    process = tmp_path / "proc" / "12"
    process.mkdir(parents=True)
    (process / "cmdline").write_bytes(b"headwater\0" + words.replace(" ", "\0").encode() + b"\0")
    (process / "environ").write_text(f"PATH=/bin\0{environment}\0")
    (process / "cwd").symlink_to(tmp_path)
    candidates = (".headwater", ".headwater/branches/a", "other")

    found = [path for path in candidates if starting_process(tmp_path / path, tmp_path / "proc")]

    assert found == ([data] if data else [])
