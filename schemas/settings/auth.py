"""[auth]: the settings of users and sign-in, as one tree with the default and the meaning of every key.

Sections and keys are those of the official `config.toml`; keys that only the environment of the official auth server has are here,
too (`gotrue_names.py` is the table of those names). Where both have a default, the one of the project file applies. Source:
docs/reference/auth.md, section 25.
"""

from typing import Annotated

from msgspec import Meta, Struct, field

from schemas.keys.secret import Secret
from schemas.settings.auth_delivery import Email, Sms
from schemas.settings.auth_factors import Mfa, PasskeySettings, WebAuthn
from schemas.settings.auth_providers import (
    CustomOAuth,
    External,
    OAuthServer,
    SamlSettings,
    Scim,
    ThirdParty,
    Web3,
)
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
"""The values of `password_requirements`, with the character sets of which a password needs one character each."""


class Argon2(Struct, frozen=True):
    """[auth.password.argon2]: cost of new hashes (argon2id). Weaker ones are renewed at the next sign-in."""

    memory_cost: Annotated[int, Meta(ge=8, le=1 << 20, description="a whole number of KiB, 8 to 1048576")] = (
        19456
    )
    """KiB of memory."""
    time_cost: Annotated[int, Meta(ge=1, le=20, description="a whole number, 1 to 20")] = 2
    """Passes over the memory."""
    parallelism: Annotated[int, Meta(ge=1, le=16, description="a whole number, 1 to 16")] = 1


class Hibp(Struct, frozen=True):
    """[auth.password.hibp]: reject passwords that were found in breaches, by the first characters of their hash."""

    enabled: bool = False
    fail_closed: bool = False
    """Reject every new password while the list cannot be reached."""
    user_agent: str = ""
    """Empty: our name."""


class Password(Struct, frozen=True):
    """[auth.password]: rules of passwords beyond `minimum_password_length` and `password_requirements`."""

    max_length: PasswordLength = 72
    """Most bytes of a password."""
    required_characters: list[str] = field(default_factory=list)
    """Character sets of which a password needs one character each, in addition to those of `password_requirements`."""
    hibp: Hibp = field(default_factory=Hibp)
    argon2: Argon2 = field(default_factory=Argon2)


class AuthRateLimits(Struct, frozen=True):
    """[auth.rate_limit]: requests of one client address in 5 minutes, unless stated otherwise; 0 lifts a limit."""

    email_sent: Quota = Quota("30")
    """Emails to all users; not counted while accounts are confirmed at once."""
    sms_sent: Quota = Quota("30")
    """Messages to all users; not counted while accounts are confirmed at once."""
    anonymous_users: Rate = 30.0
    """Anonymous sign-ups, an hour."""
    token_refresh: Rate = 150.0
    """Sign-ins and refreshes (/token)."""
    sign_in_sign_ups: Rate = 30.0
    """Sign-ups, codes, magic links, recoveries and changes of the user, counted separately."""
    token_verifications: Rate = 30.0
    web3: Rate = 30.0
    sso: Rate = 30.0
    passkey: Rate = 30.0
    oauth_dynamic_client_register: Rate = 10.0
    header: str = ""
    """Header with the client's address, before X-Forwarded-For; only of requests from `gateway.trusted_proxies`."""


class Captcha(Struct, frozen=True):
    """[auth.captcha]."""

    enabled: bool = False
    provider: str = "hcaptcha"
    """hcaptcha or turnstile."""
    secret: Secret | None = None
    timeout: Duration = Duration(10)


class SessionSettings(Struct, frozen=True):
    """[auth.sessions]: limits of sessions, checked when they are refreshed."""

    timebox: Duration | None = None
    """Longest life of a session. Unset, or 0: unlimited."""
    inactivity_timeout: Duration | None = None
    """Longest time without a refresh. Unset, or 0: unlimited."""
    allow_low_aal: Duration | None = None
    """How long a user with a second factor may use a session without it. Unset, or 0: unlimited."""
    single_per_user: bool = False
    """Only the session that was refreshed last stays valid."""
    tags: list[str] = field(default_factory=list)
    """With `single_per_user`: one session for each tag. The header `X-Supabase-Session-Tag` of a sign-in sets the session's tag, if it is
    one of these; all other sessions have the first one.
    """


class Hook(Struct, frozen=True):
    """[auth.hook.<point>]: a database function or an HTTP service that is called."""

    enabled: bool = False
    uri: str = ""
    """`pg-functions://postgres/<schema>/<function>`, an https URL, or an http URL of this machine."""
    secrets: Secret | None = None
    """Keys that sign HTTP calls: `v1,whsec_<base64>`; several are joined by `|`."""


class AuthHooks(Struct, frozen=True):
    """[auth.hook]."""

    before_user_created: Hook = field(default_factory=Hook)
    after_user_created: Hook = field(default_factory=Hook)
    custom_access_token: Hook = field(default_factory=Hook)
    send_email: Hook = field(default_factory=Hook)
    send_sms: Hook = field(default_factory=Hook)
    mfa_verification_attempt: Hook = field(default_factory=Hook)
    password_verification_attempt: Hook = field(default_factory=Hook)


class DatabaseEncryption(Struct, frozen=True):
    """[auth.database_encryption]: the key that encrypts secrets of factors, keys of sessions, and secrets and tokens of providers.

    They are always encrypted (AES-256-GCM): with the key named here, or with one derived from `auth.sealing_key`. Passwords are
    hashed, and the hashes are not encrypted.
    """

    encrypt: bool = False
    encryption_key_id: str = ""
    """Name of the key in use; it is stored with what it encrypts."""
    encryption_key: Secret | None = None
    """32 bytes in base64url without padding."""
    decryption_keys: dict[str, Secret] = field(default_factory=dict)
    """All keys that may still be needed, including the one in use, by their names."""


class AuditLog(Struct, frozen=True):
    """[auth.audit_log]."""

    disable_postgres: bool = False
    """Write audit entries to the log only."""
    retention: Duration = Duration(0)
    """How long entries are stored in the table; 0: for ever. Each sign-in and each refresh adds one of some 400 bytes."""


class Auth(Struct, frozen=True):
    """[auth]: users and sign-in."""

    enabled: bool = True
    site_url: str = "http://127.0.0.1:3000"
    """Address of the application: the target of redirects that name no other."""
    additional_redirect_urls: list[str] = field(default_factory=list)
    """Further targets; `*`, `**`, `?` and `{a,b}` are patterns."""
    external_url: str = ""
    """Address of this service, including `/auth/v1`. Empty: on the gateway."""
    jwt_expiry: JwtExpiry = 3600
    """Seconds an access token is valid, at most 604800."""
    jwt_issuer: str = ""
    """`iss` of access tokens. Empty: the external URL, if there is one."""
    jwt_secret: Secret = Secret(DEVELOPMENT_JWT_SECRET)
    """HS256 secret of the platform's tokens, 16 characters or more."""
    former_jwt_secret: Secret | None = None
    """The HS256 secret before the present one. Its tokens, and the legacy API keys that it signed, are accepted until
    `former_jwt_secret_until`. `headwater keys rotate --jwt-secret` writes both.
    """
    former_jwt_secret_until: str = ""
    """Time as `2027-01-31T12:00:00Z`."""
    sealing_key: Secret | None = None
    """Text of 32 characters or more from which the keys are derived that encrypt what is stored: stored settings, secrets of users'
    second factors, keys of sessions, tokens and secrets of providers, S3 keys, secrets of functions. Several are separated by commas:
    the first encrypts, all decrypt. Unset: `sealing.key` in the data folder; with an outside database `jwt_secret`, which is weaker.
    """
    signing_keys_path: str = ""
    """File with a list of private JWKs, as `jwt_keys`; a relative path is one beside `config.toml`. Changes apply at once."""
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
    """Accepted algorithms. Empty: those of the keys."""
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
    hashed_keys: dict[str, str] = field(default_factory=dict)
    """Further API keys by name, of which only digests are stored, such as `worker = "secret <SHA-256 of the key>"`. `headwater keys create`
    and the dashboard create and revoke them while the platform runs.
    """
    enable_signup: bool = True
    """New users may sign up."""
    enable_anonymous_sign_ins: bool = False
    enable_manual_linking: bool = False
    """Users may link and unlink identities themselves."""
    linking_domains: dict[str, str] = field(default_factory=dict)
    """Provider to domain: users are matched by the same e-mail address only within a domain. Unnamed providers share one."""
    enable_refresh_token_rotation: bool = True
    """A refresh token that is used again ends its session."""
    refresh_token_reuse_interval: Amount = 10
    """Seconds in which an older refresh token is still accepted."""
    refresh_token_allow_reuse: bool = False
    """Older refresh tokens are always accepted."""
    refresh_token_algorithm_version: TokenVersion = 2
    """2: a counter signed by the session. 0 or 1: a row for each token. Both are always accepted."""
    refresh_token_upgrade_percentage: Percent = 0
    """Percent of the sessions of version 1 that are upgraded when they are refreshed, while version 2 is issued."""
    minimum_password_length: Count = 6
    """At least 6."""
    password_requirements: str = ""
    """letters_digits, lower_upper_letters_digits, lower_upper_letters_digits_symbols, or empty."""
    flow_state_expiry_duration: Duration = Duration(300)
    """How long a sign-in by way of another page may take, at least 300 seconds."""
    redirect_url: str = ""
    """Target of a sign-in by a provider that names no allowed target of its own. Empty: the site URL."""
    allowed_id_token_issuers: list[str] = field(
        default_factory=lambda: ["https://appleid.apple.com", "https://accounts.google.com"]
    )
    """Issuers whose ID tokens are accepted with a `client_id` that no provider names."""
    ios_bundle_id: str = ""
    """Accepted as an audience of Apple's ID tokens."""
    max_request_duration: Duration = Duration(10)
    cors_allowed_headers: list[str] = field(default_factory=list)
    """No effect: browsers may send any request header."""
    sb_forwarded_for_enabled: bool = False
    """Sb-Forwarded-For has the client's address, before `rate_limit.header`; only from `gateway.trusted_proxies`."""
    db_cleanup_enabled: bool = False
    """Remove what has expired: tokens, sessions, states, challenges, old anonymous users."""
    password: Password = field(default_factory=Password)
    rate_limit: AuthRateLimits = field(default_factory=AuthRateLimits)
    captcha: Captcha = field(default_factory=Captcha)
    email: Email = field(default_factory=Email)
    sms: Sms = field(default_factory=Sms)
    sessions: SessionSettings = field(default_factory=SessionSettings)
    mfa: Mfa = field(default_factory=Mfa)
    passkey: PasskeySettings = field(default_factory=PasskeySettings)
    webauthn: WebAuthn = field(default_factory=WebAuthn)
    hook: AuthHooks = field(default_factory=AuthHooks)
    external: External = field(default_factory=External)
    custom_oauth: CustomOAuth = field(default_factory=CustomOAuth)
    web3: Web3 = field(default_factory=Web3)
    saml: SamlSettings = field(default_factory=SamlSettings)
    scim: Scim = field(default_factory=Scim)
    oauth_server: OAuthServer = field(default_factory=OAuthServer)
    third_party: ThirdParty = field(default_factory=ThirdParty)
    database_encryption: DatabaseEncryption = field(default_factory=DatabaseEncryption)
    audit_log: AuditLog = field(default_factory=AuditLog)
