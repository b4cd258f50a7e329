"""[assistant]: a language model that answers administrators in the dashboard (docs/assistant.md)."""

from msgspec import Struct, field

from schemas.keys.secret import Secret


class AssistantSettings(Struct, frozen=True):
    """[assistant]: a model behind an interface that is compatible with that of OpenAI. Off unless it is switched on."""

    enabled: bool = False
    """Offer the assistant in the dashboard. Questions, and the schema of the database, go to the service that `url` names."""
    url: str = ""
    """Address of the interface up to its version, as in `https://llm.example.com/v1`: `/chat/completions` is added."""
    model: str = ""
    """Name of the model, as the service knows it."""
    api_key: Secret | None = None
    """Key that is sent as `Authorization: Bearer`. Unset: none is sent."""
    sends_rows: bool = False
    """Let the model ask for rows, plans and log lines too. SQL that it proposes runs only after the administrator agreed, read only."""
    allow: list[str] = field(default_factory=list)
    """Private addresses that `url` may name, and those that are reached without TLS: networks (`10.1.0.0/16`), hosts (`127.0.0.1:11434`)."""
