"""Shapes over HTTP on a running platform: a token that expires while its request waits, and a cache that two users share."""

import http.client
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import jwt
import pytest

from tests.platform import Platform
from tests.ports import free_port
from tests.workers.sync.sync_pool import ALICE, BOB

pytestmark = pytest.mark.process_group("clients")

IS_THERE = shutil.which("nginx") is not None
_CONFIG = """
{user} daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 64; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  proxy_cache_path {folder}/cache keys_zone=shapes:1m;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass {url}; proxy_http_version 1.1; proxy_cache shapes; proxy_cache_revalidate on; proxy_cache_lock on;
      add_header x-cache $upstream_cache_status;
    }}
  }}
}}
"""
"""A cache as people write it: no key of its own, so that the address alone names an answer."""


@pytest.fixture(scope="module")
def tables(client_platform: Platform) -> Platform:
    """The platform with a table in which each user sees the own row."""
    client_platform.psql(
        "drop table if exists sync_cached; create table sync_cached (id int primary key, owner uuid);"
        " alter table sync_cached enable row level security;"
        " create policy p on sync_cached for select to authenticated using (owner = auth.uid());"
        " grant select on sync_cached to authenticated;"
        f" insert into sync_cached values (1, '{ALICE}'), (2, '{BOB}')"
    )
    client_platform.wait_for_catalog("sync_cached")
    return client_platform


def test_an_expired_token_ends_a_request_that_waits_and_a_new_one_goes_on(tables: Platform) -> None:
    short = _token(tables, ALICE, expires_in_s=3)
    heads, _ = _read(tables.url, tables, short, offset="-1")
    place = {"offset": heads["electric-offset"], "handle": heads["electric-handle"]}
    heads, _ = _read(tables.url, tables, short, **place)
    place["offset"] = heads["electric-offset"]

    status, heads, body = _ask(tables.url, tables, short, **place, live="true")
    assert status == 200, (
        "it was answered, long before the 20 seconds of a long poll, because its token is over"
    )
    assert body[-1]["headers"]["control"] == "up-to-date"
    assert jwt.decode(short, options={"verify_signature": False})["exp"] <= time.time() + 1
    while (rejected := _ask(tables.url, tables, short, **place)[0]) == 200:
        pass  # a token is accepted to the end of its second
    assert rejected == 401

    status, heads, _ = _ask(tables.url, tables, _token(tables, ALICE), **place)
    assert (status, heads["electric-handle"]) == (200, place["handle"])
    status, heads, _ = _ask(tables.url, tables, _token(tables, BOB), **place)
    assert status == 409
    assert heads["electric-handle"] != place["handle"]


def test_every_answer_is_private_and_varies_by_its_caller(tables: Platform) -> None:
    token = _token(tables, ALICE)
    first, _ = _read(tables.url, tables, token, offset="-1")
    place = {"offset": first["electric-offset"], "handle": first["electric-handle"]}
    answers = {
        "rows": (200, {"offset": "-1"}),
        "poll": (200, {**place, "live": "true"}),
        "events": (200, {**place, "live": "true", "live_sse": "true"}),
        "unknown handle": (409, {"offset": "0_0", "handle": "1-2"}),
        "malformed": (400, {"offset": "x"}),
        "rejected token": (401, {"offset": "-1"}),
    }

    for name, (status, query) in answers.items():
        # What waits ends with its token.
        sent = "x.y.z" if status == 401 else _token(tables, ALICE, 2 if "live" in query else 3600)
        found, heads, _ = _ask(tables.url, tables, sent, **query)
        assert found == status, name
        assert heads["cache-control"].startswith("private"), name
        assert heads["vary"].startswith("authorization, apikey"), name


def test_a_connection_goes_on_after_an_answer_and_ends_where_its_client_says_so(tables: Platform) -> None:
    key = tables.values["SERVICE_ROLE_KEY"]
    head = f"GET /sync/v1/shape?table=sync_cached&offset=-1 HTTP/1.1\r\nHost: x\r\napikey: {key}\r\n"
    place = urlsplit(tables.url)
    with socket.create_connection((str(place.hostname), place.port or 80), timeout=30) as client:
        client.sendall(f"{head}\r\n{head}\r\n{head}Connection: close\r\n\r\n".encode())
        received = b""
        while piece := client.recv(65536):
            received += piece

    answers = received.split(b"HTTP/1.1 200 OK\r\n")[1:]
    bodies = [json.loads(answer.partition(b"\r\n\r\n")[2]) for answer in answers]
    assert [b"\r\nConnection: close\r\n" in answer for answer in answers] == [False, False, True]
    assert bodies[0] == bodies[1] == bodies[2]
    assert len(bodies[0]) == 3


@pytest.fixture
def cache(tables: Platform, tmp_path: Path) -> Iterator[str]:
    """The URL of nginx as a cache in front of the gateway."""
    if not IS_THERE:
        if os.environ.get("NGINX") == "required":
            pytest.fail("nginx is not on this machine")
        pytest.skip("nginx is not on this machine")
    port = free_port()
    user = "user root;" if os.geteuid() == 0 else ""  # its workers write into the folder of the test
    file = tmp_path / "nginx.conf"
    file.write_text(_CONFIG.format(user=user, folder=tmp_path, port=port, url=tables.url))
    process = subprocess.Popen(["nginx", "-c", str(file), "-e", str(tmp_path / "early.log")])
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 20
        while True:
            try:
                status, _, _ = _ask(url, tables, _token(tables, ALICE), offset="-1")
                assert status == 200, (tmp_path / "error.log").read_text()
                break
            except OSError:
                assert time.monotonic() < deadline, (tmp_path / "error.log").read_text()
        yield url
    finally:
        process.terminate()
        process.wait(10)


def test_a_cache_gives_no_user_what_another_one_got(tables: Platform, cache: str) -> None:
    tokens = {1: _token(tables, ALICE), 2: _token(tables, BOB)}
    for _ in range(3):
        for id, token in tokens.items():
            place = {"offset": "-1"}
            rows: list[str] = []
            while True:
                status, heads, messages = _ask(cache, tables, token, **place)
                assert status == 200
                rows += [message["value"]["id"] for message in messages if "value" in message]
                place = {"offset": heads["electric-offset"], "handle": heads["electric-handle"]}
                if "electric-up-to-date" in heads:
                    break
            assert rows == [str(id)]
            other = {2: tokens[1], 1: tokens[2]}[id]
            assert _ask(cache, tables, other, **place)[0] == 409, "also where the cache has that address"


def _token(tables: Platform, subject: str, expires_in_s: int = 3600) -> str:
    claims = {"sub": subject, "role": "authenticated", "exp": int(time.time()) + expires_in_s}
    return jwt.encode(claims, tables.values["JWT_SECRET"])


def _read(url: str, tables: Platform, token: str, **query: str) -> tuple[dict[str, str], list[dict]]:
    status, heads, body = _ask(url, tables, token, **query)
    assert status == 200, body
    return heads, body


def _ask(url: str, tables: Platform, token: str, **query: str) -> tuple[int, dict[str, str], list[dict]]:
    """Return status, headers and messages of one request for the shape."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    headers = {"apikey": tables.values["ANON_KEY"], "authorization": f"Bearer {token}"}
    try:
        connection.request(
            "GET", "/sync/v1/shape?" + urlencode({"table": "sync_cached", **query}), headers=headers
        )
        answer = connection.getresponse()
        text = answer.read()
        return (
            answer.status,
            {name.lower(): value for name, value in answer.getheaders()},
            json.loads(text if text.startswith(b"[") else b"[]"),
        )
    finally:
        connection.close()
