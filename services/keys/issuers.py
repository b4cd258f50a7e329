"""[auth.third_party] -> the issuers whose tokens the data interfaces accept, and where their keys are published. Pure.

The spelling of `iss` is from each issuer's own documentation; it must match exactly, including a closing slash.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from schemas.settings.auth_providers import ThirdParty
from schemas.settings.tree import SettingsError

_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,126}[A-Za-z0-9])?", re.ASCII)
_HOST = re.compile(
    r"(?=.{1,253}$)(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}", re.ASCII
)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class IssuerTemplate:
    """Templates of an issuer's addresses, with the keys of its settings in braces. Without `keys`, discovery is used."""

    issuer: str
    keys: str = ""
    audience: str = ""


ISSUER_TEMPLATES: Mapping[str, IssuerTemplate] = {
    "firebase": IssuerTemplate(
        "https://securetoken.google.com/{project_id}",
        "https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com",
        "{project_id}",
    ),
    "auth0": IssuerTemplate("https://{host}.auth0.com/", "https://{host}.auth0.com/.well-known/jwks.json"),
    "aws_cognito": IssuerTemplate(
        "https://cognito-idp.{user_pool_region}.amazonaws.com/{user_pool_id}",
        "https://cognito-idp.{user_pool_region}.amazonaws.com/{user_pool_id}/.well-known/jwks.json",
    ),
    "clerk": IssuerTemplate("https://{domain}"),
    "workos": IssuerTemplate("{issuer_url}"),
}
"""The issuers by the names of their settings."""


@dataclass(frozen=True, slots=True)
class ThirdPartyIssuer:
    """One issuer: the name of its settings, its `iss`, the URL of its keys if it is fixed, its audience."""

    name: str
    url: str
    keys_url: str = ""
    audience: str | None = None

    @property
    def discovery_url(self) -> str:
        """The URL of its discovery document. Source: OpenID Connect Discovery 1.0, section 4."""
        return self.url.rstrip("/") + "/.well-known/openid-configuration"


def third_party_issuers(
    settings: ThirdParty,
    ours: Collection[str] = (),
    templates: Mapping[str, IssuerTemplate] = ISSUER_TEMPLATES,
) -> list[ThirdPartyIssuer]:
    """Return the enabled issuers. `ours` are the issuers of our own tokens, which must not be among them.

    Raises: SettingsError.
    """
    issuers: dict[str, ThirdPartyIssuer] = {}
    for name, template in templates.items():
        if not getattr(settings, name).enabled:
            continue
        values = _values(name, settings)
        url = template.issuer.format_map(values)
        if url in ours or url in issuers:
            other = "our own one" if url in ours else f"that of {issuers[url].name}"
            raise SettingsError(f"auth.third_party.{name}: its issuer {url} is {other}")
        issuers[url] = ThirdPartyIssuer(
            name, url, template.keys.format_map(values), template.audience.format_map(values) or None
        )
    return list(issuers.values())


def is_safe(url: str) -> bool:
    """Return whether keys may be read from a URL: https, or http on this machine for tests and development."""
    try:
        parts = urlsplit(url)
        return (parts.scheme == "https" and bool(parts.hostname)) or (
            parts.scheme == "http" and parts.hostname in _LOOPBACK
        )
    except ValueError:
        return False


def _values(name: str, settings: ThirdParty) -> dict[str, str]:
    """Return the keys of an issuer's settings, which become parts of URLs. Raises: SettingsError."""
    table = getattr(settings, name)
    values = {key: getattr(table, key).strip() for key in table.__struct_fields__ if key != "enabled"}
    for key, text in values.items():
        if key == "tenant_region" and not text:
            continue
        if key == "issuer_url":
            is_valid, form = is_safe(text), "a URL that begins with https://"
        elif key == "domain":
            is_valid, form = (
                _HOST.fullmatch(text) is not None,
                "the name of a host, such as clerk.example.com",
            )
        else:
            is_valid, form = _LABEL.fullmatch(text) is not None, "letters, digits and hyphens"
        if not is_valid:
            raise SettingsError(f"auth.third_party.{name}.{key} must be {form}")
    if name == "auth0":
        values["host"] = ".".join(filter(None, (values["tenant"], values["tenant_region"])))
    return values
