"""Revisions of the protocol that are served, and which one a request is of. Pure.

Up to 2025-11-25 a client begins with `initialize` and then sends the agreed revision in `MCP-Protocol-Version`. Since 2026-07-28 there is
no handshake: each request carries revision and capabilities in `params._meta`, and the headers `MCP-Protocol-Version`, `Mcp-Method` and
`Mcp-Name` repeat what a proxy may route by. The server must refuse a request whose headers differ from its body.
Source: MCP 2026-07-28, basic (per-request fields) and basic/transports/streamable-http (headers); 2025-11-25, basic/lifecycle.
"""

import base64
import binascii
from typing import Any

from schemas.http import Headers, header, header_values
from workers.management.spellings.mcp.messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    UNSUPPORTED_VERSION,
    RpcError,
    RpcMessage,
)

WITH_HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
WITHOUT_HANDSHAKE = ("2026-07-28",)
SERVED = (*WITHOUT_HANDSHAKE, *WITH_HANDSHAKE)
_DEFAULT = "2025-03-26"
"""The revision of a request without the header, as 2025-11-25 has it."""
_VERSION_HEADER, _METHOD_HEADER, _NAME_HEADER = "mcp-protocol-version", "mcp-method", "mcp-name"
_NAMED = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}
_META = "io.modelcontextprotocol/"


def version_of(headers: Headers) -> str:
    """Return the revision that a request's header names. Raises: RpcError (400)."""
    values = header_values(headers, _VERSION_HEADER)
    if len(values) > 1:
        raise _mismatch("MCP-Protocol-Version is there twice")
    version = values[0] if values else _DEFAULT
    if version not in SERVED:
        raise RpcError(
            UNSUPPORTED_VERSION,
            f"Revision {version[:40]} is not served",
            {"supported": list(SERVED), "requested": version[:40]},
            status=400,
        )
    return version


def agreed_version(params: dict[str, Any]) -> str:
    """Return the revision of a handshake: the client's if it is served, else the newest."""
    requested = params.get("protocolVersion")
    return requested if requested in WITH_HANDSHAKE else WITH_HANDSHAKE[0]


def check_envelope(message: RpcMessage, headers: Headers) -> None:
    """Check a request of a revision without handshake: its `_meta`, and that the headers repeat it. Raises: RpcError (400)."""
    params = message.params or {}
    meta = params.get("_meta")
    fields = meta if isinstance(meta, dict) else {}
    for name in ("protocolVersion", "clientCapabilities"):
        if f"{_META}{name}" not in fields:
            raise RpcError(INVALID_PARAMS, f"params._meta needs {_META}{name}", status=400)
    if fields[f"{_META}protocolVersion"] != header(headers, _VERSION_HEADER):
        raise _mismatch("MCP-Protocol-Version is another than that of params._meta")
    _check_header(headers, _METHOD_HEADER, message.method)
    if (field := _NAMED.get(message.method)) is not None and params.get(field) is not None:
        _check_header(headers, _NAME_HEADER, params[field])


def _check_header(headers: Headers, name: str, expected: object) -> None:
    values = header_values(headers, name)
    if len(values) != 1 or _decoded(values[0]) != expected:
        raise _mismatch(f"The header {name} must be there once and repeat the body")


def _decoded(value: str) -> str:
    """Return the text of a header; what is not plain ASCII is sent as `=?base64?...?=`."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[len("=?base64?") : -2], validate=True).decode()
    except (binascii.Error, UnicodeError, ValueError):
        return value


def _mismatch(message: str) -> RpcError:
    return RpcError(HEADER_MISMATCH, message, status=400)
