"""URL schemes to which a browser may be redirected with a result: of the web, of applications, and dangerous ones. Pure.

An application on a device uses a scheme that is a domain name of its maker, reversed: `com.example.app:` (RFC 8252, section
7.1). The dot distinguishes it from schemes that an operating system or a browser handles itself (`ms-settings:`,
`search-ms:`, `ldap:`, `intent:`, `javascript:`): none of those contains one. A deny list can never be complete, so where an
unauthenticated client supplies the URL only dotted schemes are accepted; the deny list below is for URLs that the project
configures.
"""

import re

_PRIVATE_USE = re.compile(r"[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+")
_ACTIVE = frozenset({
    "javascript", "vbscript", "livescript", "data", "file", "blob", "about", "filesystem", "view-source", "jar", "mhtml",
    "mk", "res", "shell", "chrome", "chrome-extension", "moz-extension", "resource", "intent", "search", "ldap", "ldaps",
    "search-ms", "shell-ms", "help", "hcp", "telnet", "ssh", "smb", "nfs", "afp", "tel", "sms", "mailto", "itms-services",
})  # fmt: skip


def is_private_use(scheme: str) -> bool:
    """Return whether a scheme is an application's own: a reversed domain name, in lower case."""
    return _PRIVATE_USE.fullmatch(scheme) is not None


def is_active(scheme: str) -> bool:
    """Return whether a browser or operating system acts on a scheme itself, so that results must never be sent there."""
    return scheme in _ACTIVE or scheme.startswith("ms-")
