"""The platform's own keys that verify tokens: the shared secret, the one before it until its time is over, the list of the settings,
the file of signing keys.

The file is watched: it changes with each step of a rotation (`headwater keys rotate`). A file that cannot be used changes nothing.
"""

from broker.file_watch import FileWatch
from broker.observability.observations import SigningKeysRead, SigningKeysRefused
from broker.observability.observe import observe
from broker.processes.key_file import read_key_file, verifying_keys
from broker.processes.setting_files import find_file, setting_folders
from schemas.keys.former_keys import former_keys
from schemas.keys.token_keys import KeySet, read_keys
from schemas.settings.tree import Auth, SettingsError


class PlatformKeys:
    """The present keys (`keys`). Raises: SettingsError if they cannot be read at first."""

    def __init__(self, auth: Auth) -> None:
        self._methods = auth.jwt_valid_methods
        path = auth.signing_keys_path
        self.watch = FileWatch(find_file(path, setting_folders())) if path else None
        try:
            self._fixed = read_keys(auth.jwt_secret.reveal())
            if auth.jwt_keys is not None:
                self._fixed += read_keys(auth.jwt_keys.reveal())
            self._fixed += former_keys(auth)
            self.keys = self._all()
        except ValueError as error:
            raise SettingsError(f"the JWT keys cannot be used: {error}") from None

    def reload_if_changed(self) -> bool:
        """Read the file again if it has changed; return whether the keys were replaced."""
        if self.watch is None or not self.watch.has_changed():
            return False
        try:
            self.keys = self._all()
        except (ValueError, SettingsError) as error:
            observe(SigningKeysRefused(str(error)))
            return False
        observe(SigningKeysRead(len(self.keys.keys)))
        return True

    def _all(self) -> KeySet:
        keys = self._fixed
        if self.watch is not None:
            keys += verifying_keys(read_key_file(self.watch.path))
        return keys.limited(self._methods)
