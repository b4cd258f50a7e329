"""Wildcards by DNS-01: records written by a program and by updates of a name server, and what is told when that fails."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from schemas.keys.secret import Secret
from schemas.settings.certificates import DNS, TLS_ALPN, DnsProof
from schemas.settings.types import Duration
from services.certificates.dns_hook import HookWriter
from services.certificates.dns_update import UpdateWriter
from services.certificates.folder import CertificateFolder
from tests.broker.server import NatsServer
from tests.services.certificates.edges import DOMAIN, PATIENCE_S, issued_names, running_edge, settings_for
from tests.services.certificates.name_servers import (
    KEY_NAME,
    KEY_SECRET,
    running_name_server,
    updated_name_server,
)
from tests.services.certificates.pebble import running_pebble

WILDCARD = f"*.{DOMAIN}"
RECORD = f"_acme-challenge.{DOMAIN}"
HOOK = """
import json, os, sys, urllib.request
action, name, value = sys.argv[2], os.environ["HEADWATER_DNS_NAME"], os.environ["HEADWATER_DNS_VALUE"]
path, body = ("set-txt", {"value": value}) if action == "present" else ("clear-txt", {})
body = json.dumps({"host": name + ".", **body}).encode()
urllib.request.urlopen(f"{sys.argv[1]}/{path}", body).read()
with open(__file__ + ".calls", "a") as calls:
    print(json.dumps([action, name, os.environ["CERTBOT_DOMAIN"], sorted(os.environ)]), file=calls)
"""


async def test_a_program_writes_the_records_of_a_wildcard(broker: NatsServer, tmp_path: Path) -> None:
    """The first name is proved over TLS at once; the wildcard by the program, although dns-01 comes second."""
    hook = tmp_path / "hook.py"
    hook.write_text(HOOK)
    async with (
        running_name_server(tmp_path) as names,
        running_pebble(tmp_path, name_server=f"127.0.0.1:{names.port}") as pebble,
    ):
        proof = DnsProof(hook=[sys.executable, str(hook), names.management], wait=Duration(0))
        settings = settings_for(pebble, TLS_ALPN, DNS, domains=(DOMAIN, WILDCARD), dns=proof)
        async with running_edge(broker.url, tmp_path / "data", settings, pebble):
            assert set(await issued_names(pebble, f"shop.{DOMAIN}")) == {DOMAIN, WILDCARD}

    calls = [json.loads(line) for line in Path(f"{hook}.calls").read_text().splitlines()]
    assert [call[:3] for call in calls] == [["present", RECORD, DOMAIN], ["cleanup", RECORD, DOMAIN]]
    variables = set(calls[0][3]) - {"LC_CTYPE"}  # which Python sets for itself
    assert {name for name in variables if not name.startswith(("HEADWATER_DNS_", "CERTBOT_"))} <= {
        "PATH",
        "HOME",
        "LANG",
    }


async def test_updates_write_the_records_of_a_wildcard(broker: NatsServer, tmp_path: Path) -> None:
    """Domain and wildcard have two records of one name at the same time."""
    async with (
        updated_name_server("example.org") as names,
        running_pebble(tmp_path, name_server=f"127.0.0.1:{names.port}") as pebble,
    ):
        where = f"127.0.0.1:{names.port}"
        writer = UpdateWriter(where, KEY_NAME, "hmac-sha256", "d3Jvbmc=")
        with pytest.raises(OSError, match="the name server"):
            await asyncio.to_thread(writer.present, RECORD, "value", DOMAIN)
        unsigned = UpdateWriter(where, "", "", "")
        with pytest.raises(OSError, match="rejects the update: REFUSED"):
            await asyncio.to_thread(unsigned.present, RECORD, "value", DOMAIN)
        with pytest.raises(OSError, match=r"is not the authority of _acme-challenge\.elsewhere\.net"):
            await asyncio.to_thread(
                unsigned.present, "_acme-challenge.elsewhere.net", "value", "elsewhere.net"
            )
        assert names.changes == []

        proof = DnsProof(server=where, key_name=KEY_NAME, key_secret=Secret(KEY_SECRET), wait=Duration(0))
        settings = settings_for(pebble, DNS, domains=(DOMAIN, WILDCARD), dns=proof)
        async with running_edge(broker.url, tmp_path / "data", settings, pebble):
            assert set(await issued_names(pebble, f"shop.{DOMAIN}")) == {DOMAIN, WILDCARD}
            async with asyncio.timeout(PATIENCE_S):
                while names.records:
                    await asyncio.sleep(0.05)

    assert names.changes == [(action, f"{RECORD}.") for action in ("add", "add", "remove", "remove")]


async def test_a_program_that_fails_is_quoted(broker: NatsServer, tmp_path: Path) -> None:
    folder = CertificateFolder(tmp_path / "data")
    async with running_pebble(tmp_path) as pebble:
        proof = DnsProof(hook=["/bin/sh", "-c", "echo no token for $HEADWATER_DNS_NAME; exit 3"])
        settings = settings_for(pebble, DNS, dns=proof)
        async with running_edge(broker.url, tmp_path / "data", settings, pebble), asyncio.timeout(PATIENCE_S):
            while "no token" not in (history := folder.read_history()).error:
                await asyncio.sleep(0.05)

    assert f"{DOMAIN} by dns-01: `/bin/sh -c" in history.error
    assert history.error.endswith(f"ended with 3: no token for {RECORD}")
    assert history.failures == 1


def test_words_of_a_program_are_read_by_no_shell_and_its_time_is_limited(tmp_path: Path) -> None:
    words = tmp_path / "words"
    script = tmp_path / "script"
    script.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {words}\n')
    script.chmod(0o700)
    HookWriter([str(script), "a b", "$(id)", ";"], 60.0).present("name", "value", "domain")
    assert words.read_text() == "a b|$(id)|;|present|"

    with pytest.raises(OSError, match="cannot be started: No such file or directory"):
        HookWriter([str(tmp_path / "missing")], 60.0).present("name", "value", "domain")
    with pytest.raises(OSError, match=r"did not end in 0\.2 s: waiting"):
        HookWriter(["/bin/sh", "-c", "echo waiting; sleep 600 & sleep 600"], 0.2).remove("n", "v", "d")
