"""When a branch was used last: the time of the file `used` in its data folder, which outlasts its processes."""

import contextlib

from services.supervisor.data_folder.folder import DataFolder

_NAME = "used"


def note_use(folder: DataFolder) -> None:
    """Note that a branch is in use now."""
    with contextlib.suppress(OSError):  # a full disk: the branch goes on, and the list shows an older time
        (folder.path / _NAME).touch(mode=0o600)


def last_use(folder: DataFolder) -> float:
    """Return when a branch was used last, in seconds since 1970; 0 for one that was never started."""
    try:
        return (folder.path / _NAME).stat().st_mtime
    except OSError:
        return 0.0
