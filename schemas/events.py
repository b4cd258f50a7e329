"""Events that every process may follow."""

from msgspec import Struct


class CatalogChanged(Struct, frozen=True, tag="catalog-changed"):
    """A worker holds a new schema cache; `version` counts the reloads of that worker."""

    version: int


class ConfigChanged(Struct, frozen=True, tag="config-changed"):
    """Options kept in the database changed (`NOTIFY pgrst, 'reload config'`)."""


class Letter(Struct, frozen=True, tag="letter"):
    """A letter that waits for its mail server. `sealed` is the message (RFC 5322) in base64, encrypted under `id`."""

    id: str
    until: float
    """Epoch seconds after which nobody wants it any more."""
    sealed: str


class KeysChanged(Struct, frozen=True, tag="keys-changed"):
    """Signing keys changed: verified tokens must be verified anew."""


class FunctionsChanged(Struct, frozen=True, tag="functions-changed"):
    """Functions or their secrets were deployed, switched or deleted: `name` is that of a function, empty for secrets."""

    name: str
