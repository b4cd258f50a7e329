"""[auth]: the settings of accounts, as one tree with the default and the meaning of every key.

Sections and keys are those of the official `config.toml`; what only the environment of the official auth server names
has a key here too (`gotrue_names.py` is the table of those names). Where the two have different defaults, that of
the project file holds. Source: reference page "auth", section 25.
"""

from typing import Annotated

from msgspec import Meta, Struct, field

from schemas.keys.secret import Secret
from schemas.settings.auth_delivery import Email, Sms
from schemas.settings.auth_factors import Mfa, Passkey, WebAuthn
from schemas.settings.auth_providers import CustomOAuth, External, OAuthServer, Saml, Scim, ThirdParty, Web3
from schemas.settings.types import Amount, Count, Duration, JwtExpiry, Percent, Quota, Rate

DEVELOPMENT_JWT_SECRET = "super-secret-jwt-token-with-at-least-32-characters-long"  # noqa: S105 - published on purpose
DEVELOPMENT_PUBLISHABLE_KEY = "sb_publishable_ACJWlzQHlZjBrEguHvfOxg_3BJgxAaH"
DEVELOPMENT_SECRET_KEY = "sb_secret_N7UND0UgjKTVK-Uodkm0Hg_xSvEMPvz"  # noqa: S105 - published on purpose

TokenVersion = Annotated[int, Meta(ge=0, le=2, description="0, 1 or 2")]
PasswordLength = Annotated[int, Meta(ge=6, le=1024, description="a whole number, 6 to 1024")]

_LOWER, _UPPER, _DIGITS = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
PASSWORD_REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "": (),
    "letters_digits": (_LOWER + _UPPER, _DIGITS),
    "lower_upper_letters_digits": (_LOWER, _UPPER, _DIGITS),
    "lower_upper_letters_digits_symbols": (_LOWER, _UPPER, _DIGITS, "!@#$%^&*()_+-=[]{};'\\:\"|<>?,./`~"),
}
"""The names that `password_requirements` takes, with the sets of which a password needs one sign each."""


class Argon2(Struct, frozen=True):
    """[auth.password.argon2]: cost of new hashes (argon2id). Weaker ones are renewed at the next sign-in."""

    memory_cost: Annotated[int, Meta(ge=8, le=1 << 20, description="a whole number of KiB, 8 to 1048576")] = (
        19456
    )
    """KiB of memory."""
    time_cost: Annotated[int, Meta(ge=1, le=20, description="a whole number, 1 to 20")] = 2
    """Passes over it."""
    parallelism: Annotated[int, Meta(ge=1, le=16, description="a whole number, 1 to 16")] = 1


class Hibp(Struct, frozen=True):
    """[auth.password.hibp]: refuse passwords that were found in breaches, by the first signs of their hash."""

    enabled: bool = False
    fail_closed: bool = False
    """Refuse every new password while the list cannot be asked."""
    user_agent: str = ""
    """Empty: our name."""


class Password(Struct, frozen=True):
    """[auth.password]: rules of passwords beyond `minimum_password_length` and `password_requirements`."""

    max_length: PasswordLength = 72
    """Most bytes of a password."""
    required_characters: list[str] = field(default_factory=list)
    """Sets of which a password needs one sign each, besides those of `password_requirements`."""
    hibp: Hibp = field(default_factory=Hibp)
    argon2: Argon2 = field(default_factory=Argon2)


class Limits(Struct, frozen=True):
    """[auth.rate_limit]: requests of one client address in 5 minutes, where nothing else is said; 0 lifts a limit."""

    email_sent: Quota = Quota("30")
    """Mails to all users; not counted while accounts are confirmed at once."""
    sms_sent: Quota = Quota("30")
    """Messages to all users; not counted while accounts are confirmed at once."""
    anonymous_users: Rate = 30.0
    """Anonymous sign-ups, an hour."""
    token_refresh: Rate = 150.0
    """Sign-ins and refreshes (/token)."""
    sign_in_sign_ups: Rate = 30.0
    """Sign-ups, codes, magic links, recoveries and changes of the user, each for itself."""
    token_verifications: Rate = 30.0
    web3: Rate = 30.0
    sso: Rate = 30.0
    passkey: Rate = 30.0
    oauth_dynamic_client_register: Rate = 10.0
    header: str = ""
    """Header that holds the client's address; believed only from `gateway.trusted_proxies`. Empty: X-Forwarded-For."""


class Captcha(Struct, frozen=True):
    """[auth.captcha]."""

    enabled: bool = False
    provider: str = "hcaptcha"
    """hcaptcha or turnstile."""
    secret: Secret | None = None
    timeout: Duration = Duration(10)


class Sessions(Struct, frozen=True):
    """[auth.sessions]: limits of sessions, looked at when they are refreshed."""

    timebox: Duration | None = None
    """Longest life of a session. Unset, or 0: none."""
    inactivity_timeout: Duration | None = None
    """Longest time without a refresh. Unset, or 0: none."""
    allow_low_aal: Duration | None = None
    """How long a user with a second factor may go without it. Unset, or 0: no limit."""
    single_per_user: bool = False
    """Only the session that was refreshed last stays valid."""
    tags: list[str] = field(default_factory=list)
    """With `single_per_user`: one session of each tag. A session has the tag that the header `X-Supabase-Session-Tag` of its
    sign-in names, if it is one of these; all others count as of the first one."""


class Hook(Struct, frozen=True):
    """[auth.hook.<point>]: a function of the database or an HTTP service that is asked."""

    enabled: bool = False
    uri: str = ""
    """`pg-functions://postgres/<schema>/<function>`, an https URL, or an http URL of this machine."""
    secrets: Secret | None = None
    """Keys that sign HTTP calls: `v1,whsec_<base64>`; several are joined by `|`."""


class Hooks(Struct, frozen=True):
    """[auth.hook]."""

    before_user_created: Hook = field(default_factory=Hook)
    after_user_created: Hook = field(default_factory=Hook)
    custom_access_token: Hook = field(default_factory=Hook)
    send_email: Hook = field(default_factory=Hook)
    send_sms: Hook = field(default_factory=Hook)
    mfa_verification_attempt: Hook = field(default_factory=Hook)
    password_verification_attempt: Hook = field(default_factory=Hook)


class DatabaseEncryption(Struct, frozen=True):
    """[auth.database_encryption]: hashes, secrets of factors and session keys encrypted at rest (AES-256-GCM)."""

    encrypt: bool = False
    encryption_key_id: str = ""
    """Name of the key in use; it stands in what it encrypts."""
    encryption_key: Secret | None = None
    """32 bytes in base64url without padding."""
    decryption_keys: dict[str, Secret] = field(default_factory=dict)
    """All keys that may still be needed, the one in use among them, by their names."""


class AuditLog(Struct, frozen=True):
    """[auth.audit_log]."""

    disable_postgres: bool = False
    """Write audit entries to the log only."""


class Auth(Struct, frozen=True):
    """[auth]: accounts."""

    enabled: bool = True
    site_url: str = "http://127.0.0.1:3000"
    """Where the application runs: the target of redirects that name no other."""
    additional_redirect_urls: list[str] = field(default_factory=list)
    """Further targets; `*`, `**`, `?` and `{a,b}` are patterns."""
    external_url: str = ""
    """Where this service is reached, `/auth/v1` included. Empty: on the gateway."""
    jwt_expiry: JwtExpiry = 3600
    """Seconds an access token is valid, at most 604800."""
    jwt_issuer: str = ""
    """`iss` of access tokens. Empty: the external URL, if there is one."""
    jwt_secret: Secret = Secret(DEVELOPMENT_JWT_SECRET)
    """HS256 secret of the platform's tokens, 16 characters or more."""
    signing_keys_path: str = ""
    """File with a list of private JWKs, as `jwt_keys`; a relative path is one beside `config.toml`. Changes hold at once."""
    jwt_keys: Secret | None = None
    """List of private JWKs as JSON. The one with `sign` in its `key_ops` signs; the others only verify."""
    jwt_key_id: str = ""
    """`kid` of tokens that `jwt_secret` signs."""
    jwt_aud: str = "authenticated"
    jwt_admin_roles: list[str] = field(default_factory=lambda: ["service_role", "supabase_admin"])
    """Roles whose tokens may use the admin endpoints."""
    jwt_default_group_name: str = "authenticated"
    """Role of new users."""
    jwt_valid_methods: list[str] = field(default_factory=list)
    """Algorithms that are taken. Empty: those of the keys."""
    anon_key: Secret | None = None
    """Legacy public key (a JWT). Unset: signed with `jwt_secret`."""
    service_role_key: Secret | None = None
    """Legacy secret key (a JWT). Unset: signed with `jwt_secret`."""
    publishable_key: Secret = Secret(DEVELOPMENT_PUBLISHABLE_KEY)
    publishable_keys: Secret | None = None
    """Further keys of the form `sb_publishable_...`, comma separated, to be revoked one by one."""
    secret_key: Secret = Secret(DEVELOPMENT_SECRET_KEY)
    secret_keys: Secret | None = None
    """Further keys of the form `sb_secret_...`, comma separated: one for each server, to be revoked one by one."""
    enable_signup: bool = True
    """New accounts may be made by anybody."""
    enable_anonymous_sign_ins: bool = False
    enable_manual_linking: bool = False
    """Users may link and unlink identities themselves."""
    linking_domains: dict[str, str] = field(default_factory=dict)
    """Provider to domain: accounts are found by the same e-mail address only within a domain. Unnamed ones share one."""
    enable_refresh_token_rotation: bool = True
    """A refresh token that is used again ends its session."""
    refresh_token_reuse_interval: Amount = 10
    """Seconds in which an older refresh token is still taken."""
    refresh_token_allow_reuse: bool = False
    """Older refresh tokens are always taken."""
    refresh_token_algorithm_version: TokenVersion = 2
    """2: a counter signed by the session. 0 or 1: a row for each token. Both are always taken."""
    refresh_token_upgrade_percentage: Percent = 0
    """Percent of the sessions of version 1 that move on when they are refreshed, where version 2 is what is issued."""
    minimum_password_length: Count = 6
    """At least 6."""
    password_requirements: str = ""
    """letters_digits, lower_upper_letters_digits, lower_upper_letters_digits_symbols, or empty."""
    flow_state_expiry_duration: Duration = Duration(300)
    """How long a sign-in by way of another page may take, at least 300 seconds."""
    redirect_url: str = ""
    """Where a sign-in by a provider ends that names no allowed target of its own. Empty: the site URL."""
    allowed_id_token_issuers: list[str] = field(
        default_factory=lambda: ["https://appleid.apple.com", "https://accounts.google.com"]
    )
    """Issuers whose ID tokens are taken with a `client_id` that no provider names."""
    ios_bundle_id: str = ""
    """Taken as an audience of Apple's ID tokens."""
    max_request_duration: Duration = Duration(10)
    cors_allowed_headers: list[str] = field(default_factory=list)
    """Request headers that browsers may send, besides the usual ones."""
    sb_forwarded_for_enabled: bool = False
    """Take the client's address from Sb-Forwarded-For, of trusted proxies."""
    db_cleanup_enabled: bool = False
    """Remove what has expired: tokens, sessions, states, challenges, old anonymous users."""
    password: Password = field(default_factory=Password)
    rate_limit: Limits = field(default_factory=Limits)
    captcha: Captcha = field(default_factory=Captcha)
    email: Email = field(default_factory=Email)
    sms: Sms = field(default_factory=Sms)
    sessions: Sessions = field(default_factory=Sessions)
    mfa: Mfa = field(default_factory=Mfa)
    passkey: Passkey = field(default_factory=Passkey)
    webauthn: WebAuthn = field(default_factory=WebAuthn)
    hook: Hooks = field(default_factory=Hooks)
    external: External = field(default_factory=External)
    custom_oauth: CustomOAuth = field(default_factory=CustomOAuth)
    web3: Web3 = field(default_factory=Web3)
    saml: Saml = field(default_factory=Saml)
    scim: Scim = field(default_factory=Scim)
    oauth_server: OAuthServer = field(default_factory=OAuthServer)
    third_party: ThirdParty = field(default_factory=ThirdParty)
    database_encryption: DatabaseEncryption = field(default_factory=DatabaseEncryption)
    audit_log: AuditLog = field(default_factory=AuditLog)
