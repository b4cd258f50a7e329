"""What signatures are verified with, besides the configured pair and the stored keys. Pure."""

from dataclasses import dataclass, field

from schemas.keys.secret import Secret
from schemas.settings.tree import Settings
from workers.storage.s3.sealing import Sealer


@dataclass(frozen=True, slots=True)
class Keyring:
    """The project's id and its public API keys, which are access key and secret of session tokens; what seals stored keys."""

    project: str = ""
    public_keys: tuple[Secret, ...] = ()
    sealer: Sealer = field(default_factory=lambda: Sealer(b""))


def read_keyring(settings: Settings) -> Keyring:
    """Make the keyring of the settings."""
    auth = settings.auth
    listed = auth.publishable_keys.reveal().split(",") if auth.publishable_keys else []
    public = [auth.anon_key, auth.publishable_key, *(Secret(each.strip()) for each in listed)]
    kept = tuple(each for each in public if each)
    return Keyring(settings.project_id, kept, Sealer(auth.jwt_secret.reveal().encode()))
