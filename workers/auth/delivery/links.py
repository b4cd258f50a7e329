"""Confirmation URLs: the links in emails.

The public URL of the service keeps its path (`https://host/auth/v1`). No part of a link comes from the headers of a request:
a forged `Host` must not lead a user's token to another server. Source: docs/reference/auth.md, section 5.1, 5.7 and 18.2.
"""

from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from workers.auth.delivery.templates import EmailKind

VERIFY_TYPES = {
    EmailKind.INVITE: "invite",
    EmailKind.CONFIRMATION: "signup",
    EmailKind.RECOVERY: "recovery",
    EmailKind.MAGIC_LINK: "magiclink",
    EmailKind.EMAIL_CHANGE: "email_change",
}
"""The `type` of GET /verify for each email with a link."""


def confirmation_url(
    external_url: str, *, token_hash: str, verify_type: str, redirect_to: str, path: str = "/verify"
) -> str:
    """Return a confirmation link: `external_url` + `path` + token, type and target, all percent-encoded.

    `path` comes from the settings (`mailer.urlpaths`). It is below the path of the external URL, and may repeat it; a whole
    URL is used unchanged. Its own query stays.
    """
    base = urlsplit(path if "://" in path else external_url.strip())
    below = urlsplit("" if "://" in path else path)
    parameters = urlencode(
        {"token": token_hash, "type": verify_type, "redirect_to": redirect_to}, quote_via=quote, safe=""
    )
    query = "&".join(part for part in (base.query, below.query, parameters) if part)
    return urlunsplit((base.scheme, base.netloc, _joined(base.path, below.path), query, ""))


def _joined(base: str, below: str) -> str:
    base, below = base.rstrip("/"), below.strip("/")
    if not below:
        return base
    if base and f"/{below}/".startswith(f"{base}/"):
        return f"/{below}"
    return f"{base}/{below}"
