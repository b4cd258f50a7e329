"""`branch.json`: the file that makes a data folder the branch of another one. Its owner alone reads it, for it has the branch's keys."""

from pathlib import Path

import msgspec

from schemas.branches import BranchRecord
from services.supervisor.data_folder.folder import write_private
from services.supervisor.errors import StartRefused

RECORD = "branch.json"
OWN_SETTINGS = "branch.env"
"""Settings of the branch alone, in the form of an `.env` file."""
BASE_SCHEMA = "base-schema.json"
"""The schema that the branch and its parent had at the moment of creation, or of the last merge."""


class BranchRecordDamaged(StartRefused):
    """The record of a branch is not what was written: it cannot be started, but deleted."""


def read_record(data: Path) -> BranchRecord | None:
    """Return the record of a branch's data folder, None of any other. Raises: StartRefused if it cannot be read, BranchRecordDamaged."""
    path = data / RECORD
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StartRefused(
            f"{path} cannot be read: {error.strerror}. Without it a branch is not started."
        ) from None
    try:
        return msgspec.json.decode(content, type=BranchRecord)
    except msgspec.MsgspecError as error:
        raise BranchRecordDamaged(
            f"{path} is damaged ({error}). Without it a branch is not started: delete the branch and create it again."
        ) from None


def write_record(data: Path, record: BranchRecord) -> None:
    """Write the record, readable by its owner alone."""
    write_private(data / RECORD, msgspec.json.encode(record))
