"""The proxy secret of a data folder: what the front gateway of several projects shows to the gateway of this one.

The platform generates the file at its first start behind a front gateway; that reads it, as the user that both run as. Functions cannot.
"""

import secrets
from pathlib import Path

from services.supervisor.data_folder.folder import create_data_folder, write_private

_NAME = "proxy.secret"
_BYTES = 32


def ensure_proxy_secret(data: Path) -> str:
    """Return the proxy secret of a data folder; create both where they are missing. Raises: StartRefused, OSError."""
    path = create_data_folder(data).path / _NAME
    if not (secret := read_proxy_secret(data)):
        secret = secrets.token_urlsafe(_BYTES)
        write_private(path, secret.encode())
    return secret


def read_proxy_secret(data: Path) -> str:
    """Return the proxy secret of a data folder, empty where there is none."""
    try:
        return (data / _NAME).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
