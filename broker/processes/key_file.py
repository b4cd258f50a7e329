"""The file of signing keys (`auth.signing_keys_path`): reading it, and the keys in it.

The auth pool signs with it, the edges verify with it; both read it again when it changes.
"""

from pathlib import Path

from schemas.keys.signing import holds_private_keys, read_signing_key
from schemas.keys.token_keys import KeySet, read_keys
from schemas.settings.tree import SettingsError

_MOST_BYTES = 1024 * 1024


def read_key_file(file: Path) -> str:
    """Return the text of the file. Raises: SettingsError."""
    try:
        with file.open("rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise SettingsError(
                f"auth.signing_keys_path cannot be read: it is longer than {_MOST_BYTES} bytes"
            )
        if not data.strip():
            raise SettingsError("auth.signing_keys_path cannot be used: the file is empty")
        return data.decode()
    except OSError as error:
        raise SettingsError(f"auth.signing_keys_path cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError("auth.signing_keys_path cannot be read: it is no UTF-8") from None


def verifying_keys(text: str) -> KeySet:
    """Return the keys of the file that verify tokens; an edge may have a copy with public halves only.

    A list that could not sign is rejected here, too, so that edges and the auth pool accept the same files.
    Raises: ValueError.
    """
    if holds_private_keys(text):
        read_signing_key(text)
    return read_keys(text)
