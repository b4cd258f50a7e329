"""The key pair of the S3 endpoint: if the settings have none, the first start of a whole platform generates one.

It is stored with the platform's passwords in the data folder. The machines of a distributed platform do not share a data folder,
so a start with `--edge` or `--pool` takes the pair from the settings only. The pair in use is written to `s3.json` for `status`.
"""

import contextlib
import os
from dataclasses import replace
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.keys.secret import Secret
from schemas.keys.secret_record import SecretRecord
from schemas.settings.storage import S3Protocol
from services.supervisor import addresses
from services.supervisor.data_folder.folder import (
    DataFolder,
    create_data_folder,
    ensure_passwords,
    lock_folder,
    write_private,
)
from services.supervisor.exposure import check_exposure
from services.supervisor.processes.plan import PartSelection
from services.supervisor.project.settings import Project

_ID, _SECRET = "s3_access_key_id", "s3_secret_access_key"
ENVIRONMENT = {
    _ID: "HEADWATER_STORAGE_S3_PROTOCOL_ACCESS_KEY_ID",
    _SECRET: "HEADWATER_STORAGE_S3_PROTOCOL_SECRET_ACCESS_KEY",
}
"""Environment names of the pair."""
_NOTE = "s3.json"


class _InUse(SecretRecord, Struct, frozen=True):
    access_key_id: str
    secret_access_key: str
    region: str


def with_s3_pair(project: Project, choice: PartSelection) -> Project:
    """Return a project whose settings have a pair, and write it down for `status`. Raises: StartRefused."""
    check_exposure(project.settings)  # first: a rejected start creates no folder
    folder = create_data_folder(project.data)
    lock = lock_folder(folder)
    try:
        if _lacks_pair(project) and choice == PartSelection():
            pair, _ = ensure_passwords(folder, [_ID, _SECRET])
            project = _with_pair(project, pair[_ID], pair[_SECRET])
        _write_note(folder, project)
    finally:
        os.close(lock)
    return project


def s3_values(data: Path, values: dict[str, str]) -> dict[str, str]:
    """Return the endpoint's address and pair under the names of the official command line; empty without an endpoint.

    `values` are the other values that are printed.
    """
    try:
        pair = msgspec.json.decode((data / _NOTE).read_bytes(), type=_InUse)
    except (OSError, msgspec.DecodeError):
        return {}
    id, secret = Secret(pair.access_key_id), Secret(pair.secret_access_key)
    protocol = S3Protocol(access_key_id=id, secret_access_key=secret, region=pair.region)
    return addresses.s3_values(protocol, values)


def _lacks_pair(project: Project) -> bool:
    storage = project.settings.storage
    return storage.enabled and storage.s3_protocol.enabled and not storage.s3_protocol.access_key_id


def _with_pair(project: Project, id: str, secret: str) -> Project:
    """Return a project with a pair; its children read it from their environment."""
    storage = project.settings.storage
    protocol = msgspec.structs.replace(
        storage.s3_protocol, access_key_id=Secret(id), secret_access_key=Secret(secret)
    )
    settings = msgspec.structs.replace(
        project.settings, storage=msgspec.structs.replace(storage, s3_protocol=protocol)
    )
    environment = {**project.environment, ENVIRONMENT[_ID]: id, ENVIRONMENT[_SECRET]: secret}
    return replace(project, settings=settings, environment=environment)


def _write_note(folder: DataFolder, project: Project) -> None:
    storage, file = project.settings.storage, folder.path / _NOTE
    id, secret = storage.s3_protocol.access_key_id, storage.s3_protocol.secret_access_key
    if storage.enabled and storage.s3_protocol.enabled and id and secret:
        pair = _InUse(id.reveal(), secret.reveal(), storage.s3_protocol.region)
        write_private(file, msgspec.json.encode(pair))
        return
    with contextlib.suppress(FileNotFoundError):
        file.unlink()
