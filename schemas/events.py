"""Define events that any process can subscribe to."""

from msgspec import Struct


class CatalogChanged(Struct, frozen=True, tag="catalog-changed"):
    """A worker has loaded a new schema cache; `version` counts the reloads of that worker."""

    version: int


class ConfigChanged(Struct, frozen=True, tag="config-changed"):
    """Options stored in the database changed (`NOTIFY pgrst, 'reload config'`)."""


class SettingsChanged(Struct, frozen=True, tag="settings-changed"):
    """A process of workers applied changed settings of the database; edges read theirs again."""

    version: int


class QueuedEmail(Struct, frozen=True, tag="letter"):
    """An email that waits for its mail server. `sealed` is the message (RFC 5322) in base64, encrypted under `id`."""

    id: str
    until: float
    """Epoch seconds after which the email is dropped."""
    sealed: str


class KeysChanged(Struct, frozen=True, tag="keys-changed"):
    """Signing keys changed: cached results of token verification are invalid."""


class FunctionsChanged(Struct, frozen=True, tag="functions-changed"):
    """Functions or their secrets were deployed, switched or deleted: `name`: the function, empty for secrets."""

    name: str
