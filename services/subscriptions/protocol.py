"""The messages of the protocol graphql-transport-ws, and the codes that close a socket. Pure.

    connection_init ->            <- connection_ack        once, within a time limit; its payload authenticates the client
    ping <-> pong                                          at any time, in both directions
    subscribe (id) ->             <- next (id) ... complete (id), or error (id)
    complete (id) ->                                       ends the operation

Source: the protocol's description in the repository `enisdenjo/graphql-ws`, PROTOCOL.md.
"""

from enum import IntEnum

import msgspec
from msgspec import Raw, Struct

NAME = "graphql-transport-ws"
ACK = b'{"type":"connection_ack"}'
_LONGEST_REASON = 123


class CloseCode(IntEnum):
    """Codes that close a socket: those of the protocol from 4400 on, the others of RFC 6455."""

    GOING_AWAY = 1001
    """The edge ends."""
    TRY_AGAIN = 1013
    """The client reads too slowly."""
    INVALID = 4400
    UNAUTHORIZED = 4401
    """A subscription before the acknowledgement."""
    FORBIDDEN = 4403
    """The credentials are rejected, or have ended."""
    NOT_ACCEPTABLE = 4406
    """The client does not offer this protocol."""
    INIT_TIMEOUT = 4408
    EXISTS = 4409
    """Two operations with one id."""
    TOO_MANY_INITS = 4429
    INTERNAL = 4500


class MessageRejected(Exception):
    """The message is not valid: the socket is closed with 4400 and this reason."""


class Init(Struct, frozen=True, tag_field="type", tag="connection_init"):
    """Credentials of the client."""

    payload: dict[str, object] | None = None


class Ping(Struct, frozen=True, tag_field="type", tag="ping"):
    """Requests a pong."""

    payload: dict[str, object] | None = None


class Pong(Struct, frozen=True, tag_field="type", tag="pong"):
    """Answers a ping, or is sent unasked."""

    payload: dict[str, object] | None = None


class Subscribe(Struct, frozen=True, tag_field="type", tag="subscribe"):
    """Starts an operation. `payload` is the JSON of a GraphQL request."""

    id: str
    payload: Raw


class Complete(Struct, frozen=True, tag_field="type", tag="complete"):
    """Ends an operation."""

    id: str


Message = Init | Ping | Pong | Subscribe | Complete


class _Payload(Struct, rename={"operation_name": "operationName"}):
    query: str
    operation_name: str | None = None
    variables: dict[str, Raw] | None = None
    extensions: dict[str, Raw] | None = None


_read: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)
_read_payload = msgspec.json.Decoder(_Payload).decode


def read(text: str) -> Message:
    """Parse a message of a client. Raises: MessageRejected."""
    try:
        message = _read.decode(text)
        if isinstance(message, Subscribe):
            _read_payload(message.payload)
    except (msgspec.DecodeError, UnicodeError):
        raise MessageRejected("Invalid message") from None
    except RecursionError:
        raise MessageRejected("The message is nested too deeply") from None
    if isinstance(message, Subscribe | Complete) and not message.id:
        raise MessageRejected("A message needs an id")
    return message


def pong(payload: dict[str, object] | None) -> bytes:
    """Return the answer to a ping."""
    return _with_payload(b"pong", payload)


def ping(payload: dict[str, object]) -> bytes:
    """Return a ping with a payload."""
    return _with_payload(b"ping", payload)


def next_(id: bytes, result: bytes) -> bytes:
    """Return the message with a result. `id` is JSON, `result` the JSON of an execution result."""
    return b'{"id":%b,"type":"next","payload":%b}' % (id, result)


def error(id: bytes, errors: bytes) -> bytes:
    """Return the message that an operation ended with errors, a JSON list."""
    return b'{"id":%b,"type":"error","payload":%b}' % (id, errors)


def complete(id: bytes) -> bytes:
    """Return the message that an operation is complete."""
    return b'{"id":%b,"type":"complete"}' % id


def errors_of(message: str, code: str | None = None) -> bytes:
    """Return a JSON list with one error."""
    extensions = {} if code is None else {"extensions": {"code": code}}
    return msgspec.json.encode([{"message": message, **extensions}])


def shortened(reason: str) -> bytes:
    """Return the reason of a close, cut to the length that a close frame allows."""
    return reason.encode()[:_LONGEST_REASON].decode(errors="ignore").encode()


def _with_payload(type: bytes, payload: dict[str, object] | None) -> bytes:
    if payload is None:
        return b'{"type":"%b"}' % type
    return b'{"type":"%b","payload":%b}' % (type, msgspec.json.encode(payload))
