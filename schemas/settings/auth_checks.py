"""Checks of [auth]: values of the right type that cannot work, alone or together (pure).

An error is a sentence with the keys in braces; it never contains a secret. Source: docs/reference/auth.md, sections 3.2, 13, 17
to 19 and 25.
"""

import base64
import re
from collections.abc import Iterator
from urllib.parse import SplitResult, urlsplit

import msgspec

from schemas.settings.auth import PASSWORD_REQUIREMENTS, Auth, Hook
from schemas.settings.auth_delivery import SENDERS, Email, Sms
from schemas.settings.auth_keys import (
    encryption_fault,
    hashed_fault,
    named_keys,
    opaque_fault,
    saml_fault,
    sealing_fault,
    signing_fault,
)
from schemas.settings.auth_providers import External, ThirdParty
from schemas.settings.types import Duration

_WITHOUT_SECRET = ("apple", "google")
"""Providers that applications sign in to by themselves, and send us the ID token."""
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1", "host.docker.internal")
_SHARED_KEY_PREFIX = "v1,whsec_"
_HOOK_KEY_BYTES = range(24, 65)
_KEY_PAIR_PREFIX = "v1a,"
"""Signatures with a pair of keys, which Standard Webhooks define as well."""
_LEAST_EXPIRY = Duration(300)
_LEAST_PASSWORD = 6
_OTP_LENGTHS = range(6, 11)


def auth_fault(auth: Auth) -> str | None:
    """Return the first error, or None."""
    return next(_faults(auth), None)


def normalized_auth(auth: Auth) -> tuple[Auth, list[str]]:
    """Raise values below their minimum, and replace values that mean "unset" by None; return warnings about the former."""
    warnings: list[str] = []

    def length(key: str, value: int) -> int:
        if value in _OTP_LENGTHS:
            return value
        warnings.append(f"{{{key}}} must be 6 to 10; codes have 6 digits")
        return 6

    def expiry(key: str, value: Duration) -> Duration:
        if value >= _LEAST_EXPIRY:
            return value
        warnings.append(f"{{{key}}} is less than 300 seconds; 300 hold")
        return _LEAST_EXPIRY

    warnings.extend(_without_effect(auth))
    if auth.minimum_password_length < _LEAST_PASSWORD:
        warnings.append("{auth.minimum_password_length} is less than 6; passwords have at least 6 characters")
    replace, email, sms, mfa, sessions = (
        msgspec.structs.replace,
        auth.email,
        auth.sms,
        auth.mfa,
        auth.sessions,
    )
    normalized = replace(
        auth,
        jwt_keys=named_keys(auth),
        minimum_password_length=max(auth.minimum_password_length, _LEAST_PASSWORD),
        flow_state_expiry_duration=expiry("auth.flow_state_expiry_duration", auth.flow_state_expiry_duration),
        email=replace(email, otp_length=length("auth.email.otp_length", email.otp_length)),
        sms=replace(
            sms,
            otp_length=length("auth.sms.otp_length", sms.otp_length),
            test_otp={_digits(phone): code for phone, code in sms.test_otp.items()},
        ),
        mfa=replace(
            mfa,
            challenge_expiry_duration=expiry(
                "auth.mfa.challenge_expiry_duration", mfa.challenge_expiry_duration
            ),
            factor_expiry_duration=expiry("auth.mfa.factor_expiry_duration", mfa.factor_expiry_duration),
            phone=replace(mfa.phone, otp_length=length("auth.mfa.phone.otp_length", mfa.phone.otp_length)),
        ),
        sessions=replace(
            sessions,
            timebox=sessions.timebox or None,
            inactivity_timeout=sessions.inactivity_timeout or None,
            allow_low_aal=sessions.allow_low_aal or None,
        ),
    )
    return normalized, warnings


def _without_effect(auth: Auth) -> Iterator[str]:
    """Yield what is set and changes nothing here, with what does instead."""
    if auth.email.external_hosts:
        yield "{auth.email.external_hosts} has no effect: links in emails always begin with {auth.external_url}"
    if auth.oauth_server.enabled and not auth.oauth_server.authorization_url_path:
        yield (
            "{auth.oauth_server.authorization_url_path} is not set: /oauth/authorize answers with an error until it names "
            "the page that asks for the consent of users"
        )


def _digits(phone: str) -> str:
    """Return a phone number as it is stored: without `+` and spaces."""
    return phone.replace(" ", "").removeprefix("+")


def _faults(auth: Auth) -> Iterator[str]:
    yield from _url_faults(auth)
    yield from _password_faults(auth)
    yield from signing_fault(auth)
    yield from opaque_fault(auth)
    yield from hashed_fault(auth)
    yield from _email_faults(auth.email)
    yield from _sms_faults(auth.sms)
    yield from _provider_faults(auth.external)
    yield from _third_party_faults(auth.third_party)
    for name in auth.hook.__struct_fields__:
        yield from _hook_faults(name, getattr(auth.hook, name))
    yield from _feature_faults(auth)
    yield from saml_fault(auth.saml)
    yield from encryption_fault(auth.database_encryption)
    yield from sealing_fault(auth)


def _url(text: str) -> SplitResult | None:
    """Parse a URL; None if it is not one."""
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - reading it raises when it is no number
    except ValueError:
        return None
    return parts if parts.scheme and (parts.netloc or parts.path) else None


def _web_url(text: str) -> SplitResult | None:
    parts = _url(text)
    return parts if parts and parts.scheme.lower() in ("http", "https") and parts.hostname else None


def _url_faults(auth: Auth) -> Iterator[str]:
    if not _url(auth.site_url):
        yield "{auth.site_url} must be a URL, such as https://example.com"
    for key, text in (
        ("external_url", auth.external_url),
        ("redirect_url", auth.redirect_url),
        ("saml.external_url", auth.saml.external_url),
    ):
        if text and not _web_url(text):
            yield f"{{auth.{key}}} must be a URL, such as https://example.com/auth/v1"


def _password_faults(auth: Auth) -> Iterator[str]:
    if auth.password_requirements not in PASSWORD_REQUIREMENTS:
        names = ", ".join(filter(None, PASSWORD_REQUIREMENTS))
        yield f"{{auth.password_requirements}} must be empty or one of {names}"
    if auth.minimum_password_length > auth.password.max_length:
        yield "{auth.minimum_password_length} must not be above {auth.password.max_length}"


def _email_faults(email: Email) -> Iterator[str]:
    smtp = email.smtp
    if smtp.is_used and not smtp.host:
        yield "{auth.email.smtp.enabled} needs {auth.email.smtp.host}, which is not set"
    if smtp.is_used and not smtp.admin_email:
        yield "{auth.email.smtp.host} is set, but {auth.email.smtp.admin_email}, the sender, is not"
    if smtp.is_used and not re.fullmatch(r"[^@\s]+@[^@\s]+", smtp.admin_email):
        yield "{auth.email.smtp.admin_email} must be an e-mail address"
    if email.allow_unverified_email_sign_ins and not email.enable_confirmations:
        yield (
            "{auth.email.allow_unverified_email_sign_ins} cannot be on while {auth.email.enable_confirmations} has "
            "every address confirmed at once"
        )
    for section, group in (("template", email.template), ("notification", email.notification)):
        for name in group.__struct_fields__:
            mail, key = getattr(group, name), f"auth.email.{section}.{name}"
            if sum(map(bool, (mail.content, mail.content_path, mail.url))) > 1:
                yield f"{{{key}.content}}, {{{key}.content_path}} and {{{key}.url}} exclude one another"
            if "://" in mail.url and not _web_url(mail.url):
                yield f"{{{key}.url}} must be a URL, or a path on {{auth.site_url}}"


def _sms_faults(sms: Sms) -> Iterator[str]:
    enabled = [name for name in SENDERS if getattr(sms, name).enabled]
    for other in enabled[1:]:
        yield f"{{auth.sms.{other}.enabled}} is on, but {{auth.sms.{enabled[0]}.enabled}} is too: one sender at most"
    for name in enabled:
        yield from _missing(f"auth.sms.{name}", getattr(sms, name), SENDERS[name])


def _provider_faults(external: External) -> Iterator[str]:
    for name, provider in external.enabled().items():
        key = f"auth.external.{name}"
        needed = ["client_id"]
        if name not in _WITHOUT_SECRET:
            needed.append("secret")
        if name == "keycloak":
            needed.append("url")
        yield from _missing(key, provider, needed)
        if not provider.client_ids:
            yield f"{{{key}.client_id}} must name at least one client"
        for field_name in ("redirect_uri", "url"):
            text = getattr(provider, field_name)
            if text and not _web_url(text):
                yield f"{{{key}.{field_name}}} must be a URL"


def _third_party_faults(third_party: ThirdParty) -> Iterator[str]:
    for name in third_party.__struct_fields__:
        issuer = getattr(third_party, name)
        needed = [key for key in issuer.__struct_fields__ if key not in ("enabled", "tenant_region")]
        if issuer.enabled:
            yield from _missing(f"auth.third_party.{name}", issuer, needed)


def _hook_faults(name: str, hook: Hook) -> Iterator[str]:
    key = f"auth.hook.{name}"
    if not hook.enabled:
        return
    yield from _missing(key, hook, ["uri"])
    parts = _url(hook.uri)
    scheme = parts.scheme.lower() if parts else ""
    if parts and scheme == "pg-functions":
        names = parts.path.removeprefix("/").split("/")
        if parts.netloc != "postgres" or len(names) != 2 or not all(names):
            yield f"{{{key}.uri}} must be pg-functions://postgres/<schema>/<function>"
        return
    if not parts or not parts.hostname or scheme not in ("http", "https"):
        yield f"{{{key}.uri}} must begin with pg-functions:// or https://"
    elif scheme == "http" and parts.hostname not in _OWN_HOSTS:
        yield f"{{{key}.uri}} must begin with https://; http:// is for this machine only"
    elif parts.username is not None or parts.password is not None or "\\" in parts.netloc:
        yield f"{{{key}.uri}} must not hold a user or a password"
    secrets = [text.strip() for text in (hook.secrets.reveal() if hook.secrets else "").split("|")]
    yield from _secret_faults(key, [text for text in secrets if text])


def _secret_faults(key: str, secrets: list[str]) -> Iterator[str]:
    """Yield errors of the keys that sign the calls of a hook over HTTP."""
    if not secrets:
        yield f"{{{key}.enabled}} needs {{{key}.secrets}}, which is not set: calls over HTTP are signed with v1,whsec_<base64>"
    for secret in secrets:
        if secret.startswith(_KEY_PAIR_PREFIX):
            yield (
                f"{{{key}.secrets}} holds a pair of keys (v1a,...), with which calls are not signed here; make a shared key "
                "of the form v1,whsec_<base64 of 24 to 64 bytes>"
            )
        elif not _is_shared_key(secret):
            yield f"{{{key}.secrets}} must be keys of the form v1,whsec_<base64 of 24 to 64 bytes>, joined by |"


def _is_shared_key(secret: str) -> bool:
    bare = secret.removeprefix(_SHARED_KEY_PREFIX).rstrip("=")
    try:
        decoded = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except ValueError:
        return False
    return secret.startswith(_SHARED_KEY_PREFIX) and len(decoded) in _HOOK_KEY_BYTES


def _feature_faults(auth: Auth) -> Iterator[str]:
    captcha, passkey, codes = auth.captcha, auth.passkey, auth.mfa.recovery_codes
    if captcha.enabled and captcha.provider not in ("hcaptcha", "turnstile"):
        yield "{auth.captcha.provider} must be hcaptcha or turnstile"
    if captcha.enabled:
        yield from _missing("auth.captcha", captcha, ["secret"])
    for field_name in ("rp_id", "rp_origins"):
        if passkey.enabled and not getattr(auth.webauthn, field_name):
            yield f"{{auth.passkey.enabled}} needs {{auth.webauthn.{field_name}}}, which is not set"
    if codes.enroll_enabled and not 60 <= codes.lockout_duration <= 86400:
        yield "{auth.mfa.recovery_codes.lockout_duration} must be 1m to 24h"


def _missing(key: str, table: msgspec.Struct, needed: list[str] | tuple[str, ...]) -> Iterator[str]:
    fields = {field.encode_name: field.name for field in msgspec.structs.fields(table)}
    for name in needed:
        value = getattr(table, fields[name])
        if not value or (isinstance(value, str) and not value.strip()):
            yield f"{{{key}.enabled}} needs {{{key}.{name}}}, which is not set"
