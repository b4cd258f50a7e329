"""Return the folders of a blob store on the local disk, and their size, without importing the library for object stores."""

import os
from contextlib import suppress
from pathlib import Path

from broker.blobs.blob_names import STAGING
from schemas.settings.storage import Storage

_FOLDER = "storage"


def store_folder(settings: Storage, data_folder: Path) -> Path:
    """Return the folder of the store (pure)."""
    return data_folder / (settings.path or _FOLDER)


def staging_folder(settings: Storage, data_folder: Path) -> Path:
    """Return the folder of unfinished blobs (pure)."""
    return store_folder(settings, data_folder) / STAGING.name


def folder_size(folder: Path) -> int:
    """Return the bytes of all files directly in a folder; 0 if the folder does not exist."""
    size = 0
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # renamed or removed since
                size += entry.stat(follow_symlinks=False).st_size
    return size
