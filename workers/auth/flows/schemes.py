"""Schemes of addresses to which a browser may be sent with a result: the web, applications, and what is neither. Pure.

An application on a device has a scheme of its own under a domain of its maker, turned round: `com.example.app:` (RFC 8252, 7.1).
The dot is what tells it from the schemes that an operating system or a browser acts upon by itself (`ms-settings:`,
`search-ms:`, `ldap:`, `intent:`, `javascript:`): none of those has one. A list of bad ones could never be complete, so where
a stranger names the address only dotted ones are taken; the list below is for addresses that the project names.
"""

import re

_PRIVATE_USE = re.compile(r"[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+")
_ACTIVE = frozenset({
    "javascript", "vbscript", "livescript", "data", "file", "blob", "about", "filesystem", "view-source", "jar", "mhtml",
    "mk", "res", "shell", "chrome", "chrome-extension", "moz-extension", "resource", "intent", "search", "ldap", "ldaps",
    "search-ms", "shell-ms", "help", "hcp", "telnet", "ssh", "smb", "nfs", "afp", "tel", "sms", "mailto", "itms-services",
})  # fmt: skip


def is_private_use(scheme: str) -> bool:
    """Tell whether a scheme is an application's own: a domain name turned round, in lower case."""
    return _PRIVATE_USE.fullmatch(scheme) is not None


def is_active(scheme: str) -> bool:
    """Tell whether a browser or a system acts upon a scheme by itself, so that no result ever goes there."""
    return scheme in _ACTIVE or scheme.startswith("ms-")
