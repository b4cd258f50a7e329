"""A whole platform with a domain: `headwater start --domain` gets its certificate, shows it, and keeps it when its edges are killed."""

import asyncio
import base64
import contextlib
import json
import os
import re
import shlex
import signal
import ssl
import time
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.platform import Platform, headwater, platform
from tests.ports import free_port
from tests.services.certificates.edges import DOMAIN, PATIENCE_S, issued_names, served
from tests.services.certificates.pebble import running_pebble

PAGE = (ROOT / "docs" / "certificates.md").read_text(encoding="utf-8")


def _edges(one: Platform) -> int:
    children = json.loads((one.data / "state.json").read_text())["children"]
    return int(next(child["pid"] for child in children if child["name"] == "edges") or 0)


async def _ask(port: int, path: str, content: bytes = b"", **headers: str) -> tuple[str, str]:
    """Send a request over TLS with the name of the domain; return head and body."""
    context = ssl._create_unverified_context()
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=DOMAIN)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    if content:
        lines += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
    method = "POST" if content else "GET"
    lines += f"Host: {DOMAIN}:{port}\r\nConnection: close\r\n"
    writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + content)
    head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    return head, body


async def _operation(one: Platform, port: int, name: str) -> tuple[str, str]:
    """Run an operation with an owner's token; return the first line of the response, and its state or code."""
    made = await asyncio.to_thread(
        one.command, "admin", "token", name.replace(".", "-"), "--rights", "owner", "--write"
    )
    token = made.stdout.strip().splitlines()[-1]
    headers = {"Authorization": f"Bearer {token}"}
    head, body = await _ask(port, f"/management/v1/operations/{name}", b"{}", **headers)
    answer = json.loads(body)
    return head.partition("\r\n")[0], answer.get("state") or answer.get("code")


async def test_a_domain_makes_a_production_server(tmp_path: Path) -> None:
    """The platform is started by the command of docs/certificates.md."""
    async with running_pebble(tmp_path) as pebble, contextlib.AsyncExitStack() as stack:
        environment = {
            "HEADWATER_CERTIFICATES_DIRECTORY": pebble.directory,
            "HEADWATER_CERTIFICATES_DIRECTORY_CA": str(pebble.ca_file),
            "HEADWATER_API_TLS_HTTP_PORT": str(pebble.http_port),
        }
        starts = [line for line in PAGE.splitlines() if line.startswith("headwater start --domain")]
        options = shlex.split(starts[0].removeprefix("headwater start "))
        environment["HEADWATER_GATEWAY_HOST"] = "127.0.0.1"
        starting = platform(*options, "--port", str(pebble.tls_port), environment=environment)
        one = await asyncio.to_thread(starting.__enter__)
        stack.push_async_callback(asyncio.to_thread, starting.__exit__, None, None, None)

        assert one.values["API_URL"] == f"https://{DOMAIN}:{pebble.tls_port}"
        assert one.values["STUDIO_URL"] == f"https://{DOMAIN}:{pebble.tls_port}/_/"
        assert await issued_names(pebble) == [DOMAIN]
        first = await served(pebble.tls_port)

        head, _ = await _ask(pebble.tls_port, "/rest/v1/", apikey=one.values["ANON_KEY"])
        assert head.startswith("HTTP/1.1 200")
        assert "max-age=31536000" in head
        person = json.dumps({"email": "ann@example.org", "password": "a long password"}).encode()
        _, body = await _ask(pebble.tls_port, "/auth/v1/signup", person, apikey=one.values["ANON_KEY"])
        claims = json.loads(base64.urlsafe_b64decode(json.loads(body)["access_token"].split(".")[1] + "=="))
        assert claims["iss"] == f"https://{DOMAIN}:{pebble.tls_port}/auth/v1"
        _, metrics = await _ask(pebble.tls_port, "/metrics", apikey=one.values["SECRET_KEY"])
        days = re.search(r"^headwater_certificate_days_left\S* (\S+)", metrics, re.MULTILINE)
        assert days is not None
        assert float(days[1]) > 80

        shown = await asyncio.to_thread(one.command, "status")
        assert re.search(r"certificate  valid until .* renewed from", shown.stdout)
        found = await asyncio.to_thread(
            headwater, "doctor", "--json", "--data", str(one.data), environment=environment
        )
        (finding,) = (item for item in json.loads(found.stdout) if item["title"] == "certificate")
        assert finding["level"] == "ok"
        assert "valid until" in finding["told"]

        assert await _operation(one, pebble.tls_port, "certificates.show") == ("HTTP/1.1 200 OK", "good")
        assert await _operation(one, pebble.tls_port, "certificates.renew") == (
            "HTTP/1.1 409 Conflict",
            "too_young",
        )

        killed = _edges(one)
        os.kill(killed, signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(OSError):
                if _edges(one) != killed and await served(pebble.tls_port) == first:
                    break
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--domain", DOMAIN), "--accept-terms"),
        (("--domain", DOMAIN, "--domain", "*.example.org", "--accept-terms"), "wildcard needs dns-01"),
        (("--domain", DOMAIN, "--accept-terms", "--host", "0.0.0.0"), "headwater keys"),
    ],
)
def test_a_start_that_cannot_be_a_production_server_says_why(
    options: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    started = headwater(
        "start",
        "--data",
        str(tmp_path / "data"),
        "--project",
        str(tmp_path),
        "--port",
        str(free_port()),
        *options,
    )

    assert started.returncode == 2
    assert words in started.stderr + started.stdout
