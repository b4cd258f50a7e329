"""[db.tls]: TLS for connections to the embedded database and its pooler, which other machines may open too."""

from msgspec import Struct, field


class DatabaseTls(Struct, frozen=True):
    """[db.tls]. From loopback connections without TLS stay possible; from other addresses there are none without it.

    PgBouncer (`[db.pooler]`) and a Postgres of the machine (`db.bin`) speak TLS. The embedded server does not, and stays on loopback.
    """

    enabled: bool = False
    """Accept TLS at the ports of the database and of the pooler."""
    host: str = "127.0.0.1"
    """Address at which both listen beside loopback: one of this machine, 0.0.0.0 for all of IPv4, :: for all of IPv6."""
    cert_path: str = ""
    """The certificate in PEM, followed by the intermediate certificates. Unset: that of the gateway (`[certificates]` or `[api.tls]`), else
    a self-signed one in the data folder. It is read again when it changes.
    """
    key_path: str = ""
    """Its private key in PEM, without a password."""
    roles: list[str] = field(default_factory=lambda: ["postgres"])
    """Database logins that may connect from other addresses than loopback: `postgres`, and those that the project has made."""
    networks: list[str] = field(default_factory=lambda: ["0.0.0.0/0", "::/0"])
    """Networks from which they may."""
