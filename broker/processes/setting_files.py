"""Find the files that settings name."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path


def find_file(path: str, folders: Sequence[Path]) -> Path:
    """Return the file that a setting names. A relative path is looked up in these folders; by default it is in the first."""
    candidates = [folder / path for folder in folders]  # joining an absolute path drops the folder
    return next((file for file in candidates if file.exists()), candidates[0])


def setting_folders(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the folders of a process in which settings' files are looked up: of `config.toml`, then of the project."""
    config = environment.get("HEADWATER_CONFIG", "")
    if not config:
        return [Path.cwd()]
    folder = Path(config).absolute().parent
    return [folder, folder.parent]
