"""[certificates]: a certificate from an authority that speaks ACME (RFC 8555), ordered and renewed by the gateway (docs/certificates.md)."""

from msgspec import Struct, field

from schemas.keys.secret import Secret
from schemas.settings.types import Duration

LETS_ENCRYPT = "https://acme-v02.api.letsencrypt.org/directory"
LETS_ENCRYPT_STAGING = "https://acme-staging-v02.api.letsencrypt.org/directory"
TLS_ALPN, HTTP = "tls-alpn-01", "http-01"
CHALLENGES = (TLS_ALPN, HTTP)
"""Kinds of challenges that the gateway answers. Sources: RFC 8737; RFC 8555, 8.3."""


class Certificates(Struct, frozen=True):
    """[certificates]: the gateway orders a certificate for its domains, renews it, and uses it without a restart."""

    domains: list[str] = field(default_factory=list)
    """Names under which clients reach the gateway; the first is the public one. Empty: no certificate is ordered."""
    accept_terms: bool = False
    """You agree to the authority's terms of service. Nothing is ordered without it."""
    contact: str = ""
    """Email address to which the authority may write."""
    directory: str = LETS_ENCRYPT
    """URL of the authority's directory."""
    staging: bool = False
    """Use the staging directory of Let's Encrypt, whose certificates no browser trusts, to try a setup."""
    directory_ca: str = ""
    """Certificate in PEM that signs the directory's own one, for an authority inside of your network; relative to config.toml."""
    eab_key_id: str = ""
    """Key identifier of an account at the authority, where it demands one (external account binding)."""
    eab_hmac_key: Secret | None = None
    """Its key in base64url. Both are used when the account is created."""
    challenges: list[str] = field(default_factory=lambda: list(CHALLENGES))
    """Ways to prove that a domain is ours, in the order in which they are tried: tls-alpn-01 needs port 443, http-01 port 80."""
    renew_before: Duration = Duration(30 * 86400)
    """Remaining time at which a certificate is renewed; a third of its lifetime, if that is shorter."""
