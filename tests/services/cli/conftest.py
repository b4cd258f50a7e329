import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.commands.client import run_loaded
from tests.fast import skip_in_fast_run
from tests.platform import prepare_data

ROOT = Path(__file__).resolve().parents[3]
SERVERS_ONLY = ("--edge", "none", "--pool", "none", "--port", "0")
DEADLINE_S = 60


class ProjectFolder:
    """A project folder that every user may pass, and the `headwater` command in it."""

    def __init__(self, root):
        self.root = root
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("HEADWATER_")},
            "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)])),
        }

    @property
    def data(self):
        return self.root / ".headwater"

    def argv(self, *words):
        return [sys.executable, "-P", "-m", "services.cli.main", *map(str, words)]

    def run(self, *words, **environment):
        return run_loaded([*map(str, words)], {**self.environment, **environment}, self.root, DEADLINE_S)

    def begin(self, *words):
        """Run a command in the foreground, as from a terminal."""
        skip_in_fast_run("platform")
        return subprocess.Popen(
            self.argv(*words),
            cwd=self.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def state(self):
        return json.loads((self.data / "state.json").read_text())

    def child(self, name):
        return next(child for child in self.state()["children"] if child["name"] == name)

    def processes(self):
        """Give the processes that name this place's data folder, or the home of its database, in their command line."""
        homes = [str(self.data)]
        if (self.data / "cluster").exists():
            homes.append((self.data / "cluster").read_text().strip())
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if any(home in command for home in homes):
                found.append(command)
        return found


def wait_until(condition, seconds=DEADLINE_S):
    """Poll until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


@contextlib.contextmanager
def new_place():
    """Give a place; stop what runs in it and remove it afterwards."""
    root = Path(tempfile.mkdtemp(prefix="headwater-test-"))
    root.chmod(0o755)
    here = ProjectFolder(root)
    try:
        yield here
    finally:
        if here.data.exists():
            here.run("stop")
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def project_folder():
    with new_place() as here:
        yield here


@pytest.fixture
def servers(project_folder):
    """A place whose Postgres and NATS run, and nothing else."""
    return start_servers(project_folder)


@pytest.fixture(scope="module")
def shared():
    """The same for tests that change nothing."""
    with new_place() as here:
        yield start_servers(here)


def start_servers(project_folder):
    prepare_data(project_folder.data)
    started = project_folder.run("start", "--detach", *SERVERS_ONLY)
    assert started.returncode == 0, started.stderr
    return project_folder


def interrupt(process):
    """Press Ctrl-C: the whole foreground group gets the signal."""
    os.killpg(process.pid, signal.SIGINT)
    return process.communicate(timeout=DEADLINE_S)
