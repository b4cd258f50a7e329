"""Files that settings name: where they are."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path


def find_file(path: str, folders: Sequence[Path]) -> Path:
    """Give the file that a setting names. A relative path is sought in these folders, and belongs to the first."""
    found = [folder / path for folder in folders]  # of an absolute path nothing is left but itself
    return next((file for file in found if file.exists()), found[0])


def setting_folders(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Give the folders in which a process seeks files of the settings: of `config.toml`, then of the project."""
    config = environment.get("HEADWATER_CONFIG", "")
    if not config:
        return [Path.cwd()]
    folder = Path(config).absolute().parent
    return [folder, folder.parent]
