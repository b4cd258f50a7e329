import shutil
import tempfile
from pathlib import Path

import pytest

from services.supervisor.data_folder.folder import create_data_folder


class Notes:
    """A reporter that remembers."""

    def __init__(self):
        self.lines = []
        self.warnings = []
        self.values = None

    def info(self, line):
        self.lines.append(line)

    def warn(self, line):
        self.warnings.append(line)

    def ready(self, values, seconds):
        self.values = values


@pytest.fixture
def notes():
    return Notes()


@pytest.fixture
def open_tmp():
    """A temporary folder that every user may pass; pytest's own is private to its user."""
    path = Path(tempfile.mkdtemp(prefix="headwater-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def folder(open_tmp):
    return create_data_folder(open_tmp / "data")
