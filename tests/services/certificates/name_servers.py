"""Name servers for an authority that looks for records of DNS-01: Let's Encrypt's own test server, and one that accepts updates (RFC 2136)."""

import asyncio
import contextlib
import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import aiohttp
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import dns.tsig
import dns.tsigkeyring
import pytest

from tests.ports import free_port

KEY_NAME, KEY_SECRET = "headwater-key.", "c2VjcmV0IG9mIHRoZSB0ZXN0LCAzMiBieXRlcyBsb25nISE="


@dataclass(frozen=True, slots=True)
class TestNameServer:
    """`pebble-challtestsrv`: the port of DNS, and the address that sets records."""

    __test__ = False
    port: int
    management: str


@contextlib.asynccontextmanager
async def running_name_server(folder: Path) -> AsyncIterator[TestNameServer]:
    """Start it; every name has the loopback address. Skip the test without it."""
    program = shutil.which("pebble-challtestsrv")
    if program is None:
        pytest.skip("no pebble-challtestsrv (Debian: apt-get install pebble)")
    port, management = free_port(), free_port()
    with (folder / "challtestsrv.log").open("wb") as output:
        process = subprocess.Popen(
            [
                program, "-dns01", f"127.0.0.1:{port}", "-management", f"127.0.0.1:{management}",
                "-http01", "", "-https01", "", "-tlsalpn01", "", "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "",
            ],
            stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            url = f"http://127.0.0.1:{management}"
            async with asyncio.timeout(60), aiohttp.ClientSession() as client:
                while True:
                    assert process.poll() is None, (folder / "challtestsrv.log").read_text()
                    with contextlib.suppress(aiohttp.ClientConnectionError):
                        body = json.dumps({"host": "no.example.org."})
                        async with client.post(f"{url}/clear-txt", data=body) as answer:
                            assert answer.status == 200
                            break
                    await asyncio.sleep(0.02)
            yield TestNameServer(port, url)
        finally:
            process.kill()
            process.wait()


class UpdatedNameServer:
    """The authority of one zone: it accepts signed updates over TCP, and answers TXT and A over UDP. `changes` are its updates in order."""

    def __init__(self, zone: str) -> None:
        self.zone = dns.name.from_text(zone)
        self.port = 0
        self.changes: list[tuple[str, str]] = []
        self.records: set[tuple[dns.name.Name, str]] = set()
        self.keys = dns.tsigkeyring.from_text({KEY_NAME: KEY_SECRET})

    def answer(self, wire: bytes) -> bytes:
        """Return the response to a message."""
        try:
            message = dns.message.from_wire(wire, keyring=self.keys)
        except (dns.message.UnknownTSIGKey, dns.tsig.BadSignature):
            message = dns.message.from_wire(wire, keyring=False)
            return _refused(message).to_wire()
        response = dns.message.make_response(message)
        if message.opcode() == dns.opcode.UPDATE:
            if message.had_tsig:
                self._update(message)
            else:
                response.set_rcode(dns.rcode.REFUSED)
            return response.to_wire()
        response.flags |= dns.flags.AA | dns.flags.RA
        question = message.question[0]
        name = question.name.to_text()
        if question.rdtype == dns.rdatatype.SOA and question.name == self.zone:
            response.answer.append(
                dns.rrset.from_text(name, 60, "IN", "SOA", f"ns.{name} ops.{name} 1 60 60 60 60")
            )
        elif question.rdtype == dns.rdatatype.A:
            response.answer.append(dns.rrset.from_text(name, 60, "IN", "A", "127.0.0.1"))
        elif question.rdtype == dns.rdatatype.TXT:
            texts = [text for owner, text in self.records if owner == question.name]
            if texts:
                response.answer.append(dns.rrset.from_text_list(name, 60, "IN", "TXT", texts))
        return response.to_wire()

    def _update(self, message: dns.message.Message) -> None:
        """Add records, and remove those of class NONE. Source: RFC 2136, 2.5."""
        for rrset in message.sections[2]:
            for rdata in rrset:
                record = (rrset.name, rdata.to_text())
                is_removed = rrset.deleting == dns.rdataclass.NONE
                (self.records.discard if is_removed else self.records.add)(record)
                self.changes.append(("remove" if is_removed else "add", rrset.name.to_text()))


def _refused(message: dns.message.Message) -> dns.message.Message:
    response = dns.message.Message(message.id)
    response.flags = dns.flags.QR
    response.set_rcode(dns.rcode.NOTAUTH)
    return response


@contextlib.asynccontextmanager
async def updated_name_server(zone: str) -> AsyncIterator[UpdatedNameServer]:
    """Start a name server on one port of UDP and TCP."""
    served = UpdatedNameServer(zone)

    class Datagrams(asyncio.DatagramProtocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self._transport = cast(asyncio.DatagramTransport, transport)

        def datagram_received(self, data: bytes, addr: tuple[str | int, int]) -> None:
            self._transport.sendto(served.answer(data), addr)

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                size = int.from_bytes(await reader.readexactly(2), "big")
                answer = served.answer(await reader.readexactly(size))
                writer.write(len(answer).to_bytes(2, "big") + answer)
        writer.close()

    loop = asyncio.get_running_loop()
    served.port = free_port()
    server = await asyncio.start_server(converse, "127.0.0.1", served.port)
    try:
        transport, _ = await loop.create_datagram_endpoint(Datagrams, local_addr=("127.0.0.1", served.port))
        try:
            yield served
        finally:
            transport.close()
    finally:
        server.close()
