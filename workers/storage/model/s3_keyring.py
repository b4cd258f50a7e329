"""Secrets that verify signatures of S3 clients, and the encryption of stored access keys.

Signature Version 4 is an HMAC, so the server needs the plain secret of every access key and cannot store a hash. Stored
secrets are encrypted before they reach the database (schemas/keys/text_sealer.py), under the id of the access key.
"""

from dataclasses import dataclass, field

from schemas.keys.sealing_keys import sealing_keys, signing_secrets
from schemas.keys.secret import Secret
from schemas.keys.text_sealer import TextSealer
from schemas.settings.auth import Auth
from schemas.settings.tree import Settings

_PURPOSE = b"headwater storage s3 access keys 1"


def sealer_of(auth: Auth) -> TextSealer:
    """Return the encryption of stored access keys."""
    return TextSealer(_PURPOSE, tuple(signing_secrets(auth)), tuple(sealing_keys(auth)))


@dataclass(frozen=True, slots=True)
class S3Keyring:
    """The project's id and its public API keys, which are access key and secret of session tokens; the cipher of stored
    keys.
    """

    project: str = ""
    public_keys: tuple[Secret, ...] = ()
    sealer: TextSealer = field(default_factory=lambda: TextSealer(_PURPOSE, (b"",)))


def read_keyring(settings: Settings) -> S3Keyring:
    """Return the keyring of the settings."""
    auth = settings.auth
    listed = auth.publishable_keys.reveal().split(",") if auth.publishable_keys else []
    public = [auth.anon_key, auth.publishable_key, *(Secret(key.strip()) for key in listed)]
    secrets = tuple(key for key in public if key)
    return S3Keyring(settings.project_id, secrets, sealer_of(auth))
