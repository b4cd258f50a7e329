"""Checks of [db.tls]: names and networks go into the rules of access of the database, so only plain ones are taken."""

import ipaddress
import re
from collections.abc import Iterator

from schemas.platform_names import LOGIN_PREFIXES, PLATFORM_ROLES
from schemas.settings.database_tls import DatabaseTls

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,62}")
"""Without signs that mean something in the rules of access: a group, a pattern, quotes."""
_HOST = re.compile(r"[A-Za-z0-9.:_-]+")
_PROJECTS_OWN = frozenset({"postgres"})


def database_tls_fault(tls: DatabaseTls) -> str | None:
    """Return which value cannot work, or None."""
    return next(_faults(tls), None)


def _faults(tls: DatabaseTls) -> Iterator[str]:
    if tls.enabled and bool(tls.cert_path) != bool(tls.key_path):
        yield "{db.tls.cert_path} and {db.tls.key_path} belong together: set both, or leave both out for the gateway's certificate"
    if not _HOST.fullmatch(tls.host):
        yield f"{{db.tls.host}} is '{tls.host}' but must be an address of this machine, such as 0.0.0.0"
    for role in tls.roles:
        if not _NAME.fullmatch(role):
            yield f"{{db.tls.roles}} has '{role}', which is no name of letters, digits and _.- that begins with a letter"
        if role in PLATFORM_ROLES - _PROJECTS_OWN or role.startswith(
            ("headwater_", "supabase_", *LOGIN_PREFIXES)
        ):
            yield f"{{db.tls.roles}} has '{role}', a login of the platform itself, which never connects from outside"
    for network in tls.networks:
        try:
            ipaddress.ip_network(network, strict=True)
        except ValueError:
            yield f"{{db.tls.networks}} has '{network}', which is no network such as 10.0.0.0/8, and no address"
