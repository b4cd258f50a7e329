"""The settings of [api]: the REST and GraphQL interfaces, their tokens and TLS of the gateway."""

from msgspec import Struct, field

from schemas.keys.secret import Secret
from schemas.settings.idempotency import Idempotency
from schemas.settings.live_reads import Live
from schemas.settings.types import Amount, Bytes, Duration, Port


class Jwt(Struct, frozen=True):
    """[api.jwt]: how the data interfaces read access tokens. Unset keys follow the platform's own keys."""

    secret: Secret | None = None
    """Text of 32 bytes or more, a JWK or a JWK set. Unset: the platform's keys. Empty: no token can be verified."""
    secret_is_base64: bool = False
    """The secret is base64 of a binary one."""
    audience: str | None = None
    """Required `aud`; unset accepts any."""
    role_claim_key: str = "$.role"
    """JSON path of the claim that names the database role."""
    cache_max_entries: Amount = 10_000
    """Verified tokens cached by each edge."""


class Tls(Struct, frozen=True):
    """[api.tls]: TLS in the gateway itself. Files that change are read again; paths are relative to config.toml.

    Without both paths `headwater start` creates a self-signed certificate in the data folder.
    """

    enabled: bool = False
    cert_path: str = ""
    """The certificate in PEM, followed by the intermediate certificates."""
    key_path: str = ""
    """Its private key in PEM, without a password."""
    http_port: Port | None = None
    """Port without TLS that redirects to https, and answers challenges of [certificates]. 0: none. Unset: 80 with `certificates.domains`, else none."""
    hsts: Duration | None = None
    """Time for which browsers use https alone (`Strict-Transport-Security`). 0: not sent. Unset: a year with `certificates.domains`, else not sent."""


class Api(Struct, frozen=True):
    """[api]: the REST and GraphQL interfaces (docs/reference/rest.md, section 2)."""

    enabled: bool = True
    port: Port = 54321
    """Port of the gateway."""
    schemas: list[str] = field(default_factory=lambda: ["public", "graphql_public"])
    """Exposed schemas; the first is the default. Empty: public and storage."""
    extra_search_path: list[str] = field(default_factory=lambda: ["public", "extensions"])
    max_rows: int | None = 1000
    """Upper bound on rows of every read; 0 lifts it (TOML lacks null)."""
    max_answer: Bytes = 1024 * 1024 * 1024
    """Longest body of a REST response that has several rows; a longer one is a 500 with the code HW500."""
    answer_space: Bytes = 8 * 1024 * 1024 * 1024
    """Disk space in bytes for the responses that one worker process is sending: those above 512 KiB are buffered in unnamed files.
    A response that finds no space is a 503 with the code HW503.
    """
    answer_folder: str | None = None
    """Folder of these files; by default the system's temporary folder (TMPDIR). A folder in memory (tmpfs) costs memory."""
    auto_expose_new_tables: bool = True
    """New tables in `public` are granted to the API roles."""
    external_url: str = ""
    tls: Tls = field(default_factory=Tls)
    jwt: Jwt = field(default_factory=Jwt)
    anon_role: str | None = "anon"
    """Role of requests without a token; empty rejects them."""
    service_role: str = "service_role"
    """Role of requests with only the secret key."""
    pre_request: str | None = None
    """Function `schema.name` called in each transaction before the main statement."""
    pre_config: str | None = None
    """Function called when options are read from the database."""
    root_spec: str | None = None
    """Function served at the root instead of the OpenAPI document."""
    tx_end: str = "commit"
    """commit, commit-allow-override, rollback or rollback-allow-override."""
    aggregates_enabled: bool = False
    require_filters: bool = False
    """Reject PATCH and DELETE without a filter, as the module `safeupdate` does: 400, code 21000."""
    plan_enabled: bool = False
    """Answer `application/vnd.pgrst.plan` with execution plans: for development. They are rejected where row security or a view may
    hide rows from the role.
    """
    prepared_statements: bool = True
    hoisted_tx_settings: list[str] = field(
        default_factory=lambda: [
            "statement_timeout",
            "plan_filter.statement_cost_limit",
            "default_transaction_isolation",
        ]
    )
    openapi_mode: str = "follow-privileges"
    """follow-privileges, ignore-privileges or disabled."""
    openapi_security_active: bool = False
    openapi_server_proxy_uri: str | None = None
    cors_allowed_origins: list[str] = field(default_factory=list)
    """Origins that browsers may call from; empty allows all."""
    server_timing_enabled: bool = False
    server_trace_header: str | None = None
    error_verbosity: str = "verbose"
    """verbose, or minimal: error bodies contain only code and message."""
    legacy_target_names: bool = True
    app_settings: dict[str, str] = field(default_factory=dict)
    """Extra `app.settings.*` of each transaction."""
    idempotency: Idempotency = field(default_factory=Idempotency)
    live: Live = field(default_factory=Live)
