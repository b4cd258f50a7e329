"""Accounts of the NATS server for consumers of streams (schemas/stream_server.py), as configuration of nats-server (pure).

A consumer's user may read its account's streams: see them, make consumers, pull and acknowledge. nats-server does not compare the reply subject of a pull with the
rights of the user, so a consumer can have a copy of a message delivered to a subject of its account, and an empty answer, which removes its own stream. It can reach nothing else:
no other stream, and nothing of the platform.
"""

import json
from collections.abc import Iterable

from schemas.keys.secret import Secret
from schemas.stream_server import consumer, password_of, publisher

_MOST_CONSUMERS, _MOST_CONNECTIONS = 100, 200
_READING = (
    "$JS.API.INFO",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.LIST",
    "$JS.API.STREAM.INFO.*",
    "$JS.API.STREAM.MSG.GET.*",
    "$JS.API.DIRECT.GET.>",
    "$JS.API.CONSUMER.>",
    "$JS.ACK.>",
    "$JS.FC.>",
)


def stream_accounts(names: Iterable[str], secret: Secret) -> str:
    """Return the block `accounts`. The text contains passwords: write it only to a file that its owner alone may read."""
    return "\n".join(["accounts {", *(_account(name, secret) for name in names), "}"])


def _account(name: str, secret: Secret) -> str:
    reader = consumer(name)
    return "\n".join([
        f"  {json.dumps(name)}: {{",
        f"    jetstream: {{ max_consumers: {_MOST_CONSUMERS * 100} }}",
        f"    limits: {{ max_connections: {_MOST_CONNECTIONS} }}",
        "    users: [",
        f"      {{ user: {json.dumps(publisher(name))}, password: {json.dumps(password_of(secret, publisher(name)))} }}",
        f"      {{ user: {json.dumps(reader)}, password: {json.dumps(password_of(secret, reader))}, permissions: {{",
        f"        publish: {{ allow: {json.dumps(list(_READING))} }}, subscribe: {{ allow: [{json.dumps(f'_INBOX.{reader}.>')}] }} }} }}",
        "    ]",
        "  }",
    ])  # fmt: skip
