"""The control port of a running server of projects: commands of the operator, on this machine alone.

One request and one reply, each a line of JSON, over a loopback socket. A request begins with the token of `server.json`, which only the owner
of the folder can read.
"""

import asyncio
import secrets
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec

from services.projects.model import ControlReply, ControlRequest, ProjectsServerState
from services.projects.registry import ServerFolder, running_server_state
from services.supervisor.errors import StartFailed
from services.supervisor.ports import LOOPBACK

_LINE_BYTES = 4 * 1024 * 1024
_ASK_S = 400.0
_READ_S = 10.0


class ControlServer:
    """Listens on a free port; `answer` does what is asked."""

    def __init__(self, answer: Callable[[ControlRequest], Awaitable[ControlReply]]) -> None:
        self._answer = answer
        self._server: asyncio.Server | None = None
        self.token = secrets.token_urlsafe(32)
        self.port = 0

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._serve, LOOPBACK, 0, limit=_LINE_BYTES)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
            async with asyncio.timeout(_READ_S):
                token = (await reader.readuntil(b"\n")).strip()
                if not secrets.compare_digest(token, self.token.encode()):
                    writer.close()
                    return
                line = await reader.readuntil(b"\n")
            reply = await self._reply(line)
            writer.write(msgspec.json.encode(reply) + b"\n")
            await writer.drain()
        writer.close()

    async def _reply(self, line: bytes) -> ControlReply:
        try:
            return await self._answer(msgspec.json.decode(line, type=ControlRequest))
        except msgspec.MsgspecError as error:
            return ControlReply(f"The request cannot be read: {error}")


def ask_server(state: ProjectsServerState, request: ControlRequest) -> ControlReply:
    """Ask a running server and wait for its reply. Raises: StartFailed if it does not answer."""
    try:
        with socket.create_connection((LOOPBACK, state.control_port), timeout=_ASK_S) as connection:
            connection.sendall(state.token.encode() + b"\n" + msgspec.json.encode(request) + b"\n")
            with connection.makefile("rb") as lines:
                return msgspec.json.decode(lines.readline(), type=ControlReply)
    except (OSError, msgspec.MsgspecError) as error:
        raise StartFailed(f"The server of projects (process {state.pid}) does not answer: {error}.") from None


def request_server(folder: ServerFolder, request: ControlRequest) -> ControlReply:
    """Ask the server of a folder; if it does not run, return an empty reply. Raises: StartFailed if it does not do what is asked."""
    state = running_server_state(folder)
    if state is None:
        return ControlReply()
    reply = ask_server(state, request)
    if reply.error:
        raise StartFailed(reply.error)
    return reply
