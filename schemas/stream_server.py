"""The NATS server for consumers of streams: its users, their passwords, and how its address reaches the process `streams` (pure).

It is a server of its own. Beside the platform's users its own would need an account, and one of the platform's as well, whose stored messages would have to move;
and a consumer can have a message delivered to any subject of its account. So each stream has an account to itself, with two users:

    publisher    of the process `streams`: everything in the account
    consumer     whoever has its password: reads the account's streams
"""

import hashlib
import hmac
from urllib.parse import quote

from schemas.keys.secret import Secret

RESERVED_GIB = 64
"""What its streams may reserve together."""
SECRET_VARIABLE, PORT_VARIABLE = "HEADWATER_STREAM_SERVER_SECRET", "HEADWATER_STREAM_SERVER_PORT"


def publisher(stream: str) -> str:
    """Return the user of the process `streams`."""
    return f"publisher_{stream}"


def consumer(stream: str) -> str:
    """Return the user of consumers."""
    return f"stream_{stream}"


def password_of(secret: Secret, user: str) -> str:
    """Return the password of a user."""
    return hmac.new(secret.reveal().encode(), user.encode(), hashlib.sha256).hexdigest()


def server_url(secret: Secret, user: str, port: int, host: str = "127.0.0.1") -> Secret:
    """Return the address of the server for a user."""
    return Secret(f"nats://{quote(user)}:{password_of(secret, user)}@{host}:{port}")
