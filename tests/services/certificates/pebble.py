"""Pebble, the test authority of Let's Encrypt, on free ports: it verifies challenges on two ports of this machine.

It asks a name server of the test for every domain, which answers with the loopback address; names that begin with `missing.` do not exist.
"""

import asyncio
import contextlib
import json
import os
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import aiohttp
import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest

from tests.broker.certificate import certificate_for_loopback
from tests.ports import free_port


@dataclass(frozen=True, slots=True)
class Pebble:
    """A running authority."""

    directory: str
    ca_file: Path
    roots: Path
    http_port: int
    tls_port: int
    management: str

    def trusting(self) -> ssl.SSLContext:
        """Return the TLS context of a client that trusts what this authority issues."""
        return ssl.create_default_context(cafile=str(self.roots))


class _NameServer(asyncio.DatagramProtocol):
    """Answers A questions with the loopback address."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        question = dns.message.from_wire(data)
        answer = dns.message.make_response(question)
        answer.flags |= dns.flags.RA
        asked = question.question[0]
        if asked.name.to_text().startswith("missing."):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        elif asked.rdtype == dns.rdatatype.A:
            answer.answer.append(dns.rrset.from_text(asked.name, 60, "IN", "A", "127.0.0.1"))
        self._transport.sendto(answer.to_wire(), addr)


@contextlib.asynccontextmanager
async def running_pebble(
    folder: Path,
    *,
    binding: tuple[str, str] | None = None,
    lifetime_s: int = 90 * 86400,
    name_server: str = "",
) -> AsyncIterator[Pebble]:
    """Start an authority; it demands an external account where `binding` has its key id and key, and asks `name_server` if there is one."""
    program = _program()
    ca_file = certificate_for_loopback(folder)
    http_port, tls_port, port, management, names = (free_port() for _ in range(5))
    settings: dict[str, Any] = {
        "listenAddress": f"127.0.0.1:{port}",
        "managementListenAddress": f"127.0.0.1:{management}",
        "certificate": str(ca_file),
        "privateKey": str(folder / "key.pem"),
        "httpPort": http_port,
        "tlsPort": tls_port,
        "ocspResponderURL": "",
        "externalAccountBindingRequired": binding is not None,
        "externalAccountMACKeys": dict([binding] if binding else []),
        "certificateValidityPeriod": lifetime_s,
    }
    config = folder / "pebble.json"
    config.write_text(json.dumps({"pebble": settings}))
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(_NameServer, local_addr=("127.0.0.1", names))
    output = (folder / "pebble.log").open("wb")
    process = subprocess.Popen(
        [program, "-config", str(config), "-dnsserver", name_server or f"127.0.0.1:{names}"],
        env={
            **os.environ,
            "PEBBLE_VA_NOSLEEP": "1",
            "PEBBLE_WFE_NONCEREJECT": "20",
            "PEBBLE_AUTHZREUSE": "0",
        },
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    try:
        roots = folder / "roots.pem"
        roots.write_bytes(await _root(f"https://127.0.0.1:{management}/roots/0", process, folder))
        yield Pebble(
            f"https://127.0.0.1:{port}/dir",
            ca_file,
            roots,
            http_port,
            tls_port,
            f"https://127.0.0.1:{management}",
        )
    finally:
        process.kill()
        process.wait()
        output.close()
        transport.close()


async def _root(url: str, process: subprocess.Popen[bytes], folder: Path) -> bytes:
    """Wait until the authority answers; return its root certificate."""
    async with asyncio.timeout(60), aiohttp.ClientSession() as client:
        while True:
            assert process.poll() is None, (folder / "pebble.log").read_text()
            with contextlib.suppress(aiohttp.ClientConnectionError):
                async with client.get(url, ssl=False) as answer:
                    return await answer.read()
            await asyncio.sleep(0.02)


def _program() -> str:
    """Return the path of Pebble. Skip the test without it, or fail it with `PEBBLE=required` in the environment."""
    if found := shutil.which("pebble"):
        return found
    reason = "no pebble (Debian: apt-get install pebble)"
    if os.environ.get("PEBBLE") == "required":
        pytest.fail(f"{reason}, and PEBBLE=required demands it")
    pytest.skip(reason)


def names_of(shown: Mapping[str, Any]) -> list[str]:
    """Return the domains of a certificate as `getpeercert` shows it."""
    return [value for kind, value in shown.get("subjectAltName", ()) if kind == "DNS"]
