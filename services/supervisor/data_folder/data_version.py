"""The file `version.json` of a data folder: the release of headwater that used the data last, and what going back from it loses.

A start on data of an older release upgrades it and says so; one on data of a newer release is refused, unless the operator accepts
what is listed. The file is written before anything of the start changes the data, and again when the platform is ready: a start that
failed half way is still an upgrade the next time.
"""

import contextlib
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from schemas.releases import FIRST_WITHOUT_RECORD, LOSSES, DowngradeLoss, release_number
from services.supervisor.data_folder.folder import DataFolder, write_private
from services.supervisor.errors import StartRefused

FILE = "version.json"


class DataVersion(Struct, frozen=True, omit_defaults=True):
    """Content of the file. `upgrading_from` is the release whose data a start is bringing up to date."""

    version: str
    losses: list[DowngradeLoss] = []
    upgrading_from: str = ""


def read_data_version(folder: DataFolder) -> DataVersion | None:
    """Return the content of the file; None without a readable one."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode((folder.path / FILE).read_bytes(), type=DataVersion)
    return None


def begin_use(folder: DataFolder, version: str, *, has_data: bool, accepts_downgrade: bool) -> str:
    """Write down that this release uses the data; return the older release whose data this start upgrades, or "".

    `has_data`: the folder was used before, so that one without the file is of the first release.
    Raises: StartRefused if a newer release used the data and `accepts_downgrade` is false.
    """
    stored = read_data_version(folder)
    if stored is None:
        stored = DataVersion(FIRST_WITHOUT_RECORD if has_data else version)
    ours, theirs = release_number(version), release_number(stored.version)
    if ours is None or theirs is None:  # run from a folder of sources: it cannot be compared
        return ""
    if theirs > ours and not accepts_downgrade:
        raise StartRefused(refusal(folder, version, stored))
    older = stored.upgrading_from or (stored.version if theirs < ours else "")
    _write(folder, DataVersion(version, _joined(stored.losses), older))
    return older


def end_upgrade(folder: DataFolder) -> None:
    """Write down that the data is up to date. A full disk leaves it undone: the next start reports the upgrade again."""
    stored = read_data_version(folder)
    if stored is not None and stored.upgrading_from:
        with contextlib.suppress(OSError):
            _write(folder, DataVersion(stored.version, stored.losses))


def refusal(folder: DataFolder, version: str, stored: DataVersion) -> str:
    """Return why a start on newer data is refused, and what would be lost (pure)."""
    ours = release_number(version) or ()
    lost = [loss.text for loss in stored.losses if (release_number(loss.since) or ()) > ours]
    listed = "".join(f"\n  - {text}" for text in lost) or "\n  nothing that this data names"
    return (
        f"The data in {folder.path} was used by headwater {stored.version}, and this is {version}. "
        f"Install {stored.version} or later, or go back with --accept-downgrade. Its migrations of the database stay applied; "
        f"what would be lost:{listed}"
    )


def _joined(stored: Sequence[DowngradeLoss]) -> list[DowngradeLoss]:
    """Return the rows of newer releases that the data carries, and ours."""
    return [*stored, *(loss for loss in LOSSES if loss not in stored)]


def _write(folder: DataFolder, content: DataVersion) -> None:
    write_private(folder.path / FILE, msgspec.json.format(msgspec.json.encode(content)))
