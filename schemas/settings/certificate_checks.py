"""Checks of [certificates] and [api.tls], and what follows from a domain: TLS, the public address, the port that redirects."""

import re
from base64 import b64decode, urlsafe_b64decode
from collections.abc import Iterator
from urllib.parse import urlsplit

from msgspec.structs import replace

from schemas.settings.auth import Auth
from schemas.settings.certificates import ALL_CHALLENGES, DNS, HTTP, KEY_ALGORITHMS, Certificates
from schemas.settings.tree import Settings, Tls
from schemas.settings.types import Duration

_NAME = re.compile(
    r"(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?"
)
_SERVER = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(?::[1-9][0-9]{0,4})?")
_ADDRESS = re.compile(r"[^\s@,<>]+@[^\s@,<>]+")
_MOST_DOMAINS = 100
"""Names in one certificate that Let's Encrypt accepts."""
_HTTP_PORT = 80
_HTTPS_PORT = 443
_YEAR = Duration(365 * 86400)


def certificate_fault(settings: Settings) -> str | None:
    """Return what is wrong with the certificate's settings, or None."""
    return _tls_fault(settings.api.tls) or next(_certificate_faults(settings), None)


def with_domain(settings: Settings) -> Settings:
    """Return the settings with what a domain brings; unchanged without `certificates.domains`."""
    tls, api, domains = settings.api.tls, settings.api, settings.certificates.domains
    if not domains:
        return settings
    tls = replace(
        tls,
        enabled=True,
        http_port=_HTTP_PORT if tls.http_port is None else tls.http_port,
        hsts=_YEAR if tls.hsts is None else tls.hsts,
    )
    port = "" if api.port in (0, _HTTPS_PORT) else f":{api.port}"
    origin = f"https://{domains[0]}{port}"
    auth = settings.auth
    if auth.site_url == Auth.__struct_defaults__[Auth.__struct_fields__.index("site_url")]:
        auth = replace(auth, site_url=origin)
    return replace(settings, api=replace(api, tls=tls, external_url=api.external_url or origin), auth=auth)


def _tls_fault(tls: Tls) -> str | None:
    """Both files or none of them: without files `headwater start` creates a self-signed certificate."""
    for name, other in (("cert_path", tls.key_path), ("key_path", tls.cert_path)):
        if tls.enabled and other and not getattr(tls, name):
            return f"{{api.tls.enabled}} needs {{api.tls.{name}}}, a file; or leave both files out for a self-signed certificate"
    return None


def _certificate_faults(settings: Settings) -> Iterator[str]:
    own, tls = settings.certificates, settings.api.tls
    yield from _domain_faults(own)
    yield from _dns_faults(own)
    if own.domains and tls.cert_path:
        yield "{certificates.domains} orders a certificate, and {api.tls.cert_path} names one: leave one of them out"
    if own.domains and not own.accept_terms:
        yield (
            "{certificates.accept_terms} must be true to order a certificate: it says that you agree to the terms of service of the authority "
            f"({urlsplit(own.directory).hostname}); `headwater start --accept-terms` sets it"
        )
    if own.contact and not _ADDRESS.fullmatch(own.contact):
        yield "{certificates.contact} must be an email address, such as ops@example.org"
    if urlsplit(own.directory).scheme != "https" or not urlsplit(own.directory).hostname:
        yield "{certificates.directory} must be an https URL, the directory of an authority that speaks ACME"
    yield from _binding_faults(own)
    if not own.challenges or not set(own.challenges) <= set(ALL_CHALLENGES):
        yield f"{{certificates.challenges}} must contain one or more of {', '.join(ALL_CHALLENGES)}"
    if own.domains and own.challenges == [HTTP] and tls.http_port == 0:
        yield "{certificates.challenges} is http-01 alone, which needs {api.tls.http_port}: the authority connects to port 80"


def _domain_faults(own: Certificates) -> Iterator[str]:
    domains = own.domains
    if len(domains) > _MOST_DOMAINS:
        yield f"{{certificates.domains}} has more than {_MOST_DOMAINS} names, which is the most for one certificate"
    if len(set(domains)) != len(domains):
        yield "{certificates.domains} has a name twice"
    for domain in domains:
        if domain.startswith("*.") and DNS not in own.challenges:
            yield f"{{certificates.domains}} has '{domain}': a wildcard needs {DNS} in {{certificates.challenges}}, and {{certificates.dns.hook}} or {{certificates.dns.server}}"
        if not _NAME.fullmatch(domain.removeprefix("*.")):
            yield f"{{certificates.domains}} has '{domain}', which is no domain such as api.example.org (lower case, xn-- for other letters)"


def _dns_faults(own: Certificates) -> Iterator[str]:
    """Exactly one way to write records, where dns-01 is used."""
    method = own.dns
    if DNS in own.challenges and bool(method.hook) == bool(method.server):
        yield f"{{certificates.challenges}} has {DNS}, which needs {{certificates.dns.hook}} (a program) or {{certificates.dns.server}} (updates), one of them"
    if own.domains and own.domains[0].startswith("*."):
        yield "{certificates.domains} begins with a wildcard: the first name is the public address, name one before it"
    if method.hook and not method.hook[0]:
        yield "{certificates.dns.hook} must begin with a program"
    if method.server and not _SERVER.fullmatch(method.server):
        yield "{certificates.dns.server} must be host or host:port"
    if bool(method.key_name) != bool(method.key_secret):
        yield "{certificates.dns.key_name} and {certificates.dns.key_secret} belong together: set both, or none"
    if method.key_algorithm not in KEY_ALGORITHMS:
        yield f"{{certificates.dns.key_algorithm}} must be one of {', '.join(KEY_ALGORITHMS)}"
    if method.key_secret and not _is_base64(method.key_secret.reveal()):
        yield "{certificates.dns.key_secret} must be a key in base64"


def _is_base64(text: str) -> bool:
    try:
        return bool(b64decode(text, validate=True))
    except ValueError:
        return False


def _binding_faults(own: Certificates) -> Iterator[str]:
    if bool(own.eab_key_id) != bool(own.eab_hmac_key):
        yield "{certificates.eab_key_id} and {certificates.eab_hmac_key} belong together: set both, or none"
    if own.eab_hmac_key:
        text = own.eab_hmac_key.reveal()
        try:
            is_key = re.fullmatch(r"[A-Za-z0-9_-]+=*", text) is not None and bool(_decoded(text))
        except ValueError:
            is_key = False
        if not is_key:
            yield "{certificates.eab_hmac_key} must be a key in base64url, as the authority shows it"


def _decoded(text: str) -> bytes:
    bare = text.rstrip("=")
    return urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
