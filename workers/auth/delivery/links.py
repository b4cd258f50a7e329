"""Confirmation URLs: the links that letters carry.

The public URL of the service keeps its path (`https://host/auth/v1`), and no part of a link ever comes from a request's
headers. Source: docs/reference/auth.md, 5.1, 5.7 and 18.2.
"""

from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from workers.auth.delivery.templates import Kind

VERIFY_TYPES = {
    Kind.INVITE: "invite",
    Kind.CONFIRMATION: "signup",
    Kind.RECOVERY: "recovery",
    Kind.MAGIC_LINK: "magiclink",
    Kind.EMAIL_CHANGE: "email_change",
}
"""The `type` of GET /verify for each letter with a link."""


def confirmation_url(
    external_url: str, *, token_hash: str, verify_type: str, redirect_to: str, path: str = "/verify"
) -> str:
    """Give the link that confirms: `external_url` + `path` + token, type and target, all percent-encoded.

    `path` is that of the settings (`mailer.urlpaths`): below the external URL's own path, which may be repeated in it;
    a whole URL stands as it is. A query of its own is kept.
    """
    base = urlsplit(path if "://" in path else external_url.strip())
    below = urlsplit("" if "://" in path else path)
    asked = urlencode(
        {"token": token_hash, "type": verify_type, "redirect_to": redirect_to}, quote_via=quote, safe=""
    )
    query = "&".join(part for part in (base.query, below.query, asked) if part)
    return urlunsplit((base.scheme, base.netloc, _joined(base.path, below.path), query, ""))


def _joined(base: str, below: str) -> str:
    base, below = base.rstrip("/"), below.strip("/")
    if not below:
        return base
    if base and f"/{below}/".startswith(f"{base}/"):
        return f"/{below}"
    return f"{base}/{below}"
