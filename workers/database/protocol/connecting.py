"""Connects to a server through asyncpg, then takes the socket over for our own protocol.

asyncpg does what happens once per connection (URL, name resolution, TLS, SCRAM). After that its transport gets another
protocol, because asyncpg cannot send several statements under one Sync. Private names of asyncpg that are used:
`Connection._transport`, `_protocol`, `_addr`, `_params`, `_aborted` and `connect_utils._cancel`. Its minor version is pinned,
and test_postgres_connection.py exercises each of them.
"""

import asyncio
import socket
from contextlib import suppress
from typing import NamedTuple

import asyncpg
from asyncpg import connect_utils

from workers.database.errors import Disconnected

_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}
"""A server that disappeared without closing the socket is noticed after a minute (Linux; elsewhere the system's own times)."""
_CHECK_CLIENT_MS = "500"
"""How often the server checks during a statement whether the client still exists, so that the work of a dead worker stops."""


class ServerBackend(NamedTuple):
    """What a cancel request needs: the server's address and parameters, and the backend's process id and secret."""

    address: object
    params: object
    process_id: int
    secret: int

    async def cancel(self) -> None:
        """Send a cancel request on a connection of its own; return once the server has read it. Raises: OSError."""
        with suppress(
            ConnectionResetError
        ):  # some servers close the extra connection this way after reading the request
            await connect_utils._cancel(  # type: ignore[attr-defined]  # see the module's docstring
                loop=asyncio.get_running_loop(),
                addr=self.address,
                params=self.params,
                backend_pid=self.process_id,
                backend_secret=self.secret,
            )


async def connect(
    url: str, timeout: float, application_name: str, *, checks_client: bool
) -> "asyncpg.Connection[asyncpg.Record]":
    """Connect with asyncpg. `checks_client` sets `client_connection_check_interval`, which some poolers reject.

    Raises: Disconnected; ValueError if the URL cannot be read. The URL, which may contain a password, is never repeated.
    """
    settings = {"application_name": application_name}
    if checks_client:
        settings["client_connection_check_interval"] = _CHECK_CLIENT_MS
    try:
        return await asyncpg.connect(url, timeout=timeout, statement_cache_size=0, server_settings=settings)
    except asyncpg.PostgresError as error:
        raise Disconnected(str(error), error.sqlstate) from None
    except (ValueError, asyncpg.InterfaceError) as error:
        if isinstance(error, ValueError):
            raise ValueError("the database URL cannot be read") from None
        raise Disconnected(str(error)) from None
    except TimeoutError:
        raise Disconnected(f"the server did not answer within {timeout:g} seconds") from None
    except OSError as error:
        raise Disconnected(str(error) or type(error).__name__) from None


def transport_of(connection: "asyncpg.Connection[asyncpg.Record]") -> asyncio.Transport:
    """Return the transport of an asyncpg connection."""
    transport: asyncio.Transport = connection._transport  # type: ignore[attr-defined]  # see the module's docstring
    return transport


def replace_protocol(
    connection: "asyncpg.Connection[asyncpg.Record]", protocol: asyncio.Protocol
) -> ServerBackend:
    """Replace asyncpg's protocol on its transport by ours; asyncpg does not use the connection afterwards.

    Raises: Disconnected.
    """
    transport = transport_of(connection)
    if connection.is_closed() or transport.is_closing():
        raise Disconnected("the server closed the connection")
    private = connection._protocol  # type: ignore[attr-defined]  # see the module's docstring
    address, params = connection._addr, connection._params  # type: ignore[attr-defined]  # the same
    backend = ServerBackend(address, params, private.backend_pid, private.backend_secret)
    transport.set_protocol(protocol)
    connection._aborted = True  # type: ignore[attr-defined]  # the same: asyncpg must neither close it nor warn
    line = transport.get_extra_info("socket")
    if line is not None and line.family != socket.AF_UNIX:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE.items():
            if hasattr(socket, name):
                line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return backend
