"""Check of the shapes of sync on this machine: a process serves them, and they have room."""

from pathlib import Path

from schemas.settings.tree import Settings
from schemas.sync import PLACE_FILE, data_folder, shapes_folder
from services.doctor.finding import DoctorFinding, FindingLevel

_TITLE = "sync"
_MIB = 1024 * 1024
_SILENT_S = 60.0
"""The process that serves shapes notes its place every second."""
_FULL = 0.9


def look_at_shapes(settings: Settings, data: Path, now: float, *, is_running: bool) -> list[DoctorFinding]:
    """Return how many shapes there are, and what is wrong with them. `now` in seconds since 1970."""
    sync = settings.sync
    if not sync.enabled:
        return [DoctorFinding(_TITLE, FindingLevel.OK, "it is switched off (sync.enabled)")]
    if not settings.realtime.enabled:
        cure = "Switch realtime.enabled on, or sync.enabled off: shapes are read from the stream of realtime."
        return [
            DoctorFinding(
                _TITLE, FindingLevel.WARNING, "no shapes are served: realtime is switched off", cure
            )
        ]
    folder = data_folder(sync.path, str(data))
    assert folder is not None  # there is a data folder
    try:
        count, size = _sizes(shapes_folder(folder))
        noted_at = (folder / PLACE_FILE).stat().st_mtime
    except FileNotFoundError:
        return [DoctorFinding(_TITLE, FindingLevel.OK, "no shape was asked for yet")]
    except OSError as error:
        cure = f"Let the system user of the platform read and write {folder}."
        return [DoctorFinding(_TITLE, FindingLevel.ERROR, f"its folder cannot be read: {error}", cure)]
    text = f"{count:,} of {sync.max_shapes:,} shapes, {size // _MIB:,} MiB of {sync.max_size // _MIB:,} MiB"
    if is_running and now - noted_at > _SILENT_S:
        cure = "The pool sync serves them; see whether its process runs here and what it says: `headwater logs changes`."
        return [DoctorFinding(_TITLE, FindingLevel.WARNING, f"{text}; no process serves them", cure)]
    if count > _FULL * sync.max_shapes or size > _FULL * sync.max_size:
        cure = "Those that were asked for longest ago end, and their clients read again; raise sync.max_shapes or sync.max_size."
        return [DoctorFinding(_TITLE, FindingLevel.WARNING, text, cure)]
    return [DoctorFinding(_TITLE, FindingLevel.OK, text)]


def _sizes(folder: Path) -> tuple[int, int]:
    """Return the number of shapes and their bytes. Raises: OSError."""
    count = size = 0
    for shape in folder.iterdir():
        count += 1
        try:
            size += sum(file.stat().st_size for file in shape.iterdir())
        except (FileNotFoundError, NotADirectoryError):  # it has ended meanwhile
            continue
    return count, size
