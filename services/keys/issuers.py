"""[auth.third_party] -> whose tokens the data interfaces take besides ours, and where their keys are published. Pure.

Each issuer's own documentation says how it spells `iss`; it must match exactly, a closing slash included.
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
class Place:
    """Where an issuer lives, with the keys of its settings in braces. Without `keys`, discovery tells."""

    issuer: str
    keys: str = ""
    audience: str = ""


PLACES: Mapping[str, Place] = {
    "firebase": Place(
        "https://securetoken.google.com/{project_id}",
        "https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com",
        "{project_id}",
    ),
    "auth0": Place("https://{host}.auth0.com/", "https://{host}.auth0.com/.well-known/jwks.json"),
    "aws_cognito": Place(
        "https://cognito-idp.{user_pool_region}.amazonaws.com/{user_pool_id}",
        "https://cognito-idp.{user_pool_region}.amazonaws.com/{user_pool_id}/.well-known/jwks.json",
    ),
    "clerk": Place("https://{domain}"),
    "workos": Place("{issuer_url}"),
}
"""The issuers by the names of their settings."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """One issuer: the name of its settings, its `iss`, the address of its keys if it is known, its audience."""

    name: str
    url: str
    keys_url: str = ""
    audience: str | None = None

    @property
    def discovery_url(self) -> str:
        """Give the address of its discovery document. Source: OpenID Connect Discovery 1.0, 4."""
        return self.url.rstrip("/") + "/.well-known/openid-configuration"


def foreign_issuers(
    settings: ThirdParty, ours: Collection[str] = (), places: Mapping[str, Place] = PLACES
) -> list[Foreign]:
    """Give the issuers that are enabled. `ours` are issuers that must not be among them: those of our own tokens.

    Raises: SettingsError.
    """
    found: dict[str, Foreign] = {}
    for name, place in places.items():
        if not getattr(settings, name).enabled:
            continue
        values = _values(name, settings)
        url = place.issuer.format_map(values)
        if url in ours or url in found:
            other = "our own one" if url in ours else f"that of {found[url].name}"
            raise SettingsError(f"auth.third_party.{name}: its issuer {url} is {other}")
        found[url] = Foreign(
            name, url, place.keys.format_map(values), place.audience.format_map(values) or None
        )
    return list(found.values())


def is_safe(url: str) -> bool:
    """Tell whether keys may be read there: by https, or by http on this machine, for tests and development."""
    try:
        parts = urlsplit(url)
        return (parts.scheme == "https" and bool(parts.hostname)) or (
            parts.scheme == "http" and parts.hostname in _LOOPBACK
        )
    except ValueError:
        return False


def _values(name: str, settings: ThirdParty) -> dict[str, str]:
    """Give the keys of an issuer's settings, which become parts of addresses. Raises: SettingsError."""
    table = getattr(settings, name)
    values = {key: getattr(table, key).strip() for key in table.__struct_fields__ if key != "enabled"}
    for key, text in values.items():
        if key == "tenant_region" and not text:
            continue
        if key == "issuer_url":
            is_good, form = is_safe(text), "a URL that begins with https://"
        elif key == "domain":
            is_good, form = _HOST.fullmatch(text) is not None, "the name of a host, such as clerk.example.com"
        else:
            is_good, form = _LABEL.fullmatch(text) is not None, "letters, digits and hyphens"
        if not is_good:
            raise SettingsError(f"auth.third_party.{name}.{key} must be {form}")
    if name == "auth0":
        values["host"] = ".".join(filter(None, (values["tenant"], values["tenant_region"])))
    return values
