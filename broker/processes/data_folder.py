"""The data folder of the platform that a process belongs to."""

import os
from pathlib import Path


def data_folder() -> Path:
    """Return the data folder: it contains the blobs, unless the settings name another place."""
    return Path(os.environ.get("HEADWATER_DATA") or ".headwater").absolute()
