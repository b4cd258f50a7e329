"""The key pair of the S3 endpoint: where the settings name none, the first start of a whole platform makes one and keeps it.

It lies with the passwords of the platform in the data folder. A platform of several machines has no such folder in common,
so its parts (`--edge`, `--pool`) take a pair from the settings only. What is in use is noted for `status`.
"""

import contextlib
import os
from dataclasses import replace
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.keys.secret import Secret
from services.supervisor.data_folder.folder import (
    DataFolder,
    keep_passwords,
    lock_folder,
    make_folder,
    write_private,
)
from services.supervisor.exposure import check_exposure
from services.supervisor.processes.plan import Choice
from services.supervisor.project.settings import Project

_ID, _SECRET = "s3_access_key_id", "s3_secret_access_key"
ENVIRONMENT = {
    _ID: "HEADWATER_STORAGE_S3_PROTOCOL_ACCESS_KEY_ID",
    _SECRET: "HEADWATER_STORAGE_S3_PROTOCOL_SECRET_ACCESS_KEY",
}
"""How the settings spell the pair."""
_NOTE = "s3.json"
_PATH = "/storage/v1/s3"


class _InUse(Struct, frozen=True):
    access_key_id: str
    secret_access_key: str
    region: str


def with_s3_pair(project: Project, choice: Choice) -> Project:
    """Give a project whose settings have a pair, and note it. Raises: StartRefused if the data folder cannot be had."""
    check_exposure(project.settings)  # what is refused leaves no folder behind
    folder = make_folder(project.data)
    lock = lock_folder(folder)
    try:
        if _lacks_pair(project) and choice == Choice():
            kept, _ = keep_passwords(folder, [_ID, _SECRET])
            project = _having(project, kept[_ID], kept[_SECRET])
        _note(folder, project)
    finally:
        os.close(lock)
    return project


def s3_values(data: Path, values: dict[str, str]) -> dict[str, str]:
    """Give the address of the endpoint and its pair under the names of the official tool; nothing where there is none.

    `values` are the other ones that are shown.
    """
    try:
        told = msgspec.json.decode((data / _NOTE).read_bytes(), type=_InUse)
    except (OSError, msgspec.DecodeError):
        return {}
    address = {"STORAGE_S3_URL": values["API_URL"] + _PATH} if "API_URL" in values else {}
    return address | {
        "S3_PROTOCOL_ACCESS_KEY_ID": told.access_key_id,
        "S3_PROTOCOL_ACCESS_KEY_SECRET": told.secret_access_key,
        "S3_PROTOCOL_REGION": told.region,
    }


def _lacks_pair(project: Project) -> bool:
    own = project.settings.storage
    return own.enabled and own.s3_protocol.enabled and not own.s3_protocol.access_key_id


def _having(project: Project, id: str, secret: str) -> Project:
    """Give a project with a pair; its children read it from their environment."""
    own = project.settings.storage
    protocol = msgspec.structs.replace(
        own.s3_protocol, access_key_id=Secret(id), secret_access_key=Secret(secret)
    )
    settings = msgspec.structs.replace(
        project.settings, storage=msgspec.structs.replace(own, s3_protocol=protocol)
    )
    environment = {**project.environment, ENVIRONMENT[_ID]: id, ENVIRONMENT[_SECRET]: secret}
    return replace(project, settings=settings, environment=environment)


def _note(folder: DataFolder, project: Project) -> None:
    own, file = project.settings.storage, folder.path / _NOTE
    id, secret = own.s3_protocol.access_key_id, own.s3_protocol.secret_access_key
    if own.enabled and own.s3_protocol.enabled and id and secret:
        told = _InUse(id.reveal(), secret.reveal(), own.s3_protocol.region)
        write_private(file, msgspec.json.encode(told))
        return
    with contextlib.suppress(FileNotFoundError):
        file.unlink()
