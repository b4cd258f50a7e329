"""Receivers of lines: HTTP in three forms, and syslog by UDP, TCP and TLS. `send` returns when the receiver has the lines, as far as it says so.

An answer of 400, 413 or 422 is about the lines: they are sent again in halves, and a single line that is rejected is dropped and counted, so
that one line does not hold back all others. Everything else is tried again. Syslog has no answer: by TCP and TLS a write that the system has taken counts
as sent, and lines that were underway when the receiver closed the connection are lost.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Sequence
from typing import Protocol
from urllib.parse import urlsplit

from schemas.logs import LogRecord
from schemas.settings.logs import LogDrain
from workers.http_client.client import FetchFailed, HttpClient
from workers.http_client.retry_after import requested_pause_s
from workers.management.areas.logs.drains.line_formats import BODIES, LONGEST_DATAGRAM, octet_counted, syslog

_ABOUT_THE_LINES = frozenset((400, 413, 422))
_PATHS = {"otlp": "/v1/logs", "loki": "/loki/api/v1/push"}
"""Where a receiver listens whose address has no path."""
_MOST_ANSWER = 64 * 1024


class NotTaken(Exception):
    """The receiver did not take the lines; they are sent again. `wait_s`: the pause that it asked for.

    Of the lines, the first `done` need not be sent again: the receiver took them, or rejected `rejected` of them for good.
    """

    def __init__(self, reason: str, wait_s: float = 0.0, *, done: int = 0, rejected: int = 0) -> None:
        super().__init__(reason)
        self.wait_s, self.done, self.rejected = wait_s, done, rejected


class Receiver(Protocol):
    """Takes lines."""

    async def send(self, records: Sequence[LogRecord]) -> int:
        """Send lines; return how many the receiver rejected for good. Raises: NotTaken."""

    async def close(self) -> None:
        """Close connections."""


def receiver_of(drain: LogDrain, outgoing: HttpClient) -> Receiver:
    """Return the receiver of a drain."""
    return SyslogReceiver(drain) if drain.format == "syslog" else HttpReceiver(drain, outgoing)


class HttpReceiver:
    """A receiver by HTTP. Its address is a setting of the operator, so it may lie in a closed network; redirects are not followed."""

    def __init__(self, drain: LogDrain, outgoing: HttpClient) -> None:
        assert drain.url is not None  # checked with the settings
        url = drain.url.reveal()
        self._url = (
            url if urlsplit(url).path not in ("", "/") else url.rstrip("/") + _PATHS.get(drain.format, "/")
        )
        kind, self._body = BODIES[drain.format]
        self._headers = {"content-type": kind} | {
            name.lower(): value.reveal() for name, value in drain.headers.items()
        }
        self._labels, self._timeout_s, self._outgoing = drain.labels, drain.timeout, outgoing

    async def send(self, records: Sequence[LogRecord]) -> int:
        """Send lines in one request, or in halves if it is rejected. Raises: NotTaken."""
        status, wait_s = await self._post(self._body(records, self._labels))
        if 200 <= status < 300:
            return 0
        if status not in _ABOUT_THE_LINES:
            raise NotTaken(f"it answered with status {status}", wait_s)
        if len(records) == 1:
            return 1
        half = len(records) // 2
        rejected = await self.send(records[:half])
        try:
            return rejected + await self.send(records[half:])
        except NotTaken as error:
            raise NotTaken(
                str(error), error.wait_s, done=half + error.done, rejected=rejected + error.rejected
            ) from None

    async def close(self) -> None:
        """Nothing to close: the client is shared."""

    async def _post(self, body: bytes) -> tuple[int, float]:
        try:
            response = await self._outgoing.fetch(
                "POST",
                self._url,
                headers=self._headers,
                body=body,
                timeout_s=self._timeout_s,
                most_bytes=_MOST_ANSWER,
            )
        except FetchFailed as error:
            raise NotTaken(str(error)) from None
        return response.status, requested_pause_s(response.status, response.headers.get("retry-after", ""))


class SyslogReceiver:
    """A receiver of syslog; the connection is opened when it is needed."""

    def __init__(self, drain: LogDrain) -> None:
        assert drain.url is not None  # checked with the settings
        parts = urlsplit(drain.url.reveal())
        self._scheme, self._host, self._port = parts.scheme, parts.hostname or "", parts.port or 0
        self._labels, self._timeout_s = drain.labels, drain.timeout
        self._own_name = socket.gethostname()
        self._sending = asyncio.Lock()
        self._stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, records: Sequence[LogRecord]) -> int:
        """Send a message for each line. Raises: NotTaken."""
        messages = [syslog(record, self._labels, self._own_name) for record in records]
        try:
            async with self._sending, asyncio.timeout(self._timeout_s):
                await (self._send_datagrams(messages) if self._scheme == "udp" else self._write(messages))
        except (OSError, TimeoutError) as error:  # errors of TLS are OSErrors
            await self.close()
            raise NotTaken(_reason(error, self._timeout_s)) from None
        return 0

    async def close(self) -> None:
        """Close the connection."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream[1].close()
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(1.0):
                    await stream[1].wait_closed()

    async def _write(self, messages: Sequence[bytes]) -> None:
        if self._stream is not None and self._stream[0].at_eof():
            await self.close()  # the receiver has closed it since
        if self._stream is None:
            context = ssl.create_default_context() if self._scheme == "tls" else None
            self._stream = await asyncio.open_connection(self._host, self._port, ssl=context)
        writer = self._stream[1]
        writer.write(b"".join(map(octet_counted, messages)))
        await writer.drain()

    async def _send_datagrams(self, messages: Sequence[bytes]) -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(
            asyncio.DatagramProtocol, remote_addr=(self._host, self._port)
        )
        try:
            for message in messages:
                transport.sendto(message[:LONGEST_DATAGRAM])
                await asyncio.sleep(0)  # let the loop write it
        finally:
            transport.close()


def _reason(error: OSError | TimeoutError, timeout_s: float) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return "its certificate is not trusted"
    return (
        f"it took nothing within {timeout_s:g} s"
        if isinstance(error, TimeoutError)
        else "no connection could be made, or it broke"
    )
