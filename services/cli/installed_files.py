"""Check whether the installed files are still ours."""

import base64
import hashlib
from importlib import metadata
from pathlib import Path

_FOLDER = "headwater"


def overwritten_files(distribution: str = "headwater") -> list[str]:
    """Return the files whose content differs from what was installed. An editable install lists none."""
    try:
        files = metadata.files(distribution) or []
    except metadata.PackageNotFoundError:
        return []
    return [str(file) for file in files if file.parts[0] == _FOLDER and file.hash and not _is_intact(file)]


def _is_intact(file: metadata.PackagePath) -> bool:
    if file.hash is None or file.hash.mode not in hashlib.algorithms_guaranteed:
        return True
    try:
        content = Path(str(file.locate())).read_bytes()
    except OSError:
        return False
    digest = hashlib.new(file.hash.mode, content).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == file.hash.value
