"""[certificates]: a certificate from an authority that speaks ACME (RFC 8555), ordered and renewed by the gateway (docs/certificates.md)."""

from msgspec import Struct, field

from schemas.keys.secret import Secret
from schemas.settings.types import Duration

LETS_ENCRYPT = "https://acme-v02.api.letsencrypt.org/directory"
LETS_ENCRYPT_STAGING = "https://acme-staging-v02.api.letsencrypt.org/directory"
TLS_ALPN, HTTP, DNS = "tls-alpn-01", "http-01", "dns-01"
CHALLENGES = (TLS_ALPN, HTTP)
"""Kinds of challenges that the gateway answers. Sources: RFC 8737; RFC 8555, 8.3."""
ALL_CHALLENGES = (*CHALLENGES, DNS)
"""With the one that needs [certificates.dns]. Source: RFC 8555, 8.4."""
KEY_ALGORITHMS = ("hmac-sha256", "hmac-sha384", "hmac-sha512")
"""Algorithms that sign updates of a name server. Source: RFC 8945, 6."""


class DnsProof(Struct, frozen=True):
    """[certificates.dns]: how the records of dns-01 are written, which wildcards need: by a program, or by updates of a name server."""

    hook: list[str] = field(default_factory=list)
    """Program with its arguments that writes the record (last argument `present`) and removes it (`cleanup`), run without a shell."""
    hook_timeout: Duration = Duration(120)
    """Longest time of one call of the program."""
    server: str = ""
    """Name server that accepts updates (RFC 2136): host, or host:port."""
    key_name: str = ""
    """Name of the key that signs updates (TSIG)."""
    key_algorithm: str = "hmac-sha256"
    """Its algorithm: hmac-sha256, hmac-sha384 or hmac-sha512."""
    key_secret: Secret | None = None
    """The key in base64."""
    wait: Duration = Duration(10)
    """Time between the last record and the authority's look, in which it spreads to every name server of the zone."""


class Certificates(Struct, frozen=True):
    """[certificates]: the gateway orders a certificate for its domains, renews it, and uses it without a restart."""

    domains: list[str] = field(default_factory=list)
    """Names under which clients reach the gateway; the first is the public one. Empty: no certificate is ordered. Those after the first may
    be wildcards (`*.example.org`), which need dns-01.
    """
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
    """Ways to prove that a domain is ours, in the order in which they are tried: tls-alpn-01 needs port 443, http-01 port 80, dns-01
    [certificates.dns]. Wildcards are proved by dns-01 whatever comes first.
    """
    renew_before: Duration = Duration(30 * 86400)
    """Remaining time at which a certificate is renewed; a third of its lifetime, if that is shorter. An authority that tells when to renew
    (RFC 9773) is asked, and its answer counts instead.
    """
    dns: DnsProof = field(default_factory=DnsProof)
