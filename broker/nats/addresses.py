"""Parse the URLs of nats-servers into addresses with credentials (pure)."""

from urllib.parse import unquote, urlsplit

from msgspec import Struct

from schemas.keys.secret import Secret

_MALFORMED = "the broker's URL must be nats://[user:password@]host[:port], or tls://...; in a password / ? # [ ] , @ are percent-encoded"


class ServerAddress(Struct, frozen=True):
    """The address of a nats-server and the credentials for it."""

    host: str
    port: int
    tls: bool = False
    user: str = ""
    password: Secret = Secret("")


def parse_servers(url: str) -> list[ServerAddress]:
    """Parse a comma separated list of `nats://user:password@host:port` or `tls://...`.

    Raises: ValueError if one of them is malformed; its text does not show the URL, which may contain a password.
    """
    servers = []
    for text in filter(None, (part.strip() for part in url.split(","))):
        try:
            parts = urlsplit(text if "://" in text else f"nats://{text}")
            port = parts.port or 4222
        except ValueError:  # its text shows the part that is malformed, which may be the password
            raise ValueError(_MALFORMED) from None
        if parts.scheme not in ("nats", "tls") or not parts.hostname:
            raise ValueError(_MALFORMED)
        user, password = unquote(parts.username or ""), Secret(unquote(parts.password or ""))
        servers.append(ServerAddress(parts.hostname, port, parts.scheme == "tls", user, password))
    if not servers:
        raise ValueError("the broker's URL is empty")
    return servers
