"""The recipes of docs/mail-and-push.md run: a mail reaches an SMTP server, a push message a receiver that can read it."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tests.docs.pages import ROOT, block
from tests.platform import Platform, platform
from tests.workers.auth.delivery.smtp_server import mail_server

PAGE = (ROOT / "docs" / "mail-and-push.md").read_text(encoding="utf-8")
OWNER = "00000000-0000-4000-8000-00000000000a"


def text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def point(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )


def hkdf(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


def opened(body: bytes, browser: ec.EllipticCurvePrivateKey, auth: bytes) -> bytes:
    """Decrypt a message as a browser does (RFC 8291)."""
    salt, sender = body[:16], body[21 : 21 + body[20]]
    shared = browser.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))
    secret = hkdf(auth, shared, b"WebPush: info\0" + point(browser) + sender, 32)
    key = hkdf(salt, secret, b"Content-Encoding: aes128gcm\0", 16)
    nonce = hkdf(salt, secret, b"Content-Encoding: nonce\0", 12)
    return AESGCM(key).decrypt(nonce, body[21 + body[20] :], None).rstrip(b"\x02")


class PushService:
    """What browsers' push service was sent, by path; `/gone` has no subscriber any more."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.authorization = ""

    async def take(self, request: web.Request) -> web.Response:
        self.bodies[request.path] = await request.read()
        self.authorization = request.headers["authorization"]
        return web.Response(status=410 if request.path == "/gone" else 201)


@pytest.fixture
async def push_service() -> AsyncIterator[tuple[PushService, int]]:
    service, application = PushService(), web.Application()
    application.router.add_post("/{name}", service.take)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield service, runner.addresses[0][1]
    await runner.cleanup()


def written(folder: Path, smtp_port: int, push_port: int, vapid: ec.EllipticCurvePrivateKey) -> None:
    for name in ("mail", "push"):
        (folder / "functions" / name).mkdir(parents=True)
        package = {"mail": "npm:nodemailer", "push": "npm:web-push"}[name]
        (folder / "functions" / name / "index.ts").write_text(block(PAGE, "ts", package))
    private = vapid.private_numbers().private_value.to_bytes(32, "big")
    (folder / "functions" / ".env").write_text(
        f"SMTP_URL=smtp://127.0.0.1:{smtp_port}\nVAPID_PUBLIC_KEY={text(point(vapid))}\nVAPID_PRIVATE_KEY={text(private)}\n"
    )
    inner = json.dumps([f"127.0.0.1:{smtp_port}", f"127.0.0.1:{push_port}"])
    jobs = block(PAGE, "toml", "functions.mail.job") + block(PAGE, "toml", "functions.push.job")
    (folder / "config.toml").write_text(f"[edge_runtime]\nallow_inner = {inner}\n{jobs}")


async def done(server: Platform, count: int) -> None:
    async with asyncio.timeout(120):
        while f" {count}\n" not in await asyncio.to_thread(
            server.psql, "select count(*) from headwater_jobs.runs where status = 'done'"
        ):
            await asyncio.sleep(0.2)  # between two questions: nothing announces the end of a run


async def test_a_mail_and_a_push_message_arrive(
    tmp_path: Path, push_service: tuple[PushService, int]
) -> None:
    service, push_port = push_service
    vapid, browser, auth = (
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP256R1()),
        os.urandom(16),
    )
    keys = json.dumps({"p256dh": text(point(browser)), "auth": text(auth)})
    rows = [f"('http://127.0.0.1:{push_port}/{name}', '{keys}', '{OWNER}')" for name in ("ada", "gone")]
    push = (
        f'select headwater_jobs.start(\'push\', \'{{"owner": "{OWNER}", "message": {{"title": "Hello"}}}}\')'
    )
    async with mail_server() as mails:
        written(tmp_path / "supabase", mails.port, push_port, vapid)
        with platform("--project", str(tmp_path)) as server:
            await asyncio.to_thread(server.psql, block(PAGE, "sql", "create table push_subscriptions"))
            await asyncio.to_thread(server.psql, f"insert into push_subscriptions values {', '.join(rows)}")
            async with asyncio.timeout(60):
                while "2" not in await asyncio.to_thread(
                    server.psql, "select count(*) from headwater_jobs.jobs"
                ):
                    await asyncio.sleep(0.2)  # between two questions: nothing announces it
            await asyncio.to_thread(server.psql, block(PAGE, "sql", "headwater_jobs.start('mail'"))
            await asyncio.to_thread(server.psql, push)
            await done(server, 2)
            left = await asyncio.to_thread(server.psql, "select endpoint from push_subscriptions")

    [mail] = mails.messages
    assert (mail["to"], mail["subject"]) == ("ada@example.com", "Your order")
    assert "It is on its way." in mail.get_content()
    assert mail["message-id"].endswith("@example.com>")
    assert json.loads(opened(service.bodies["/ada"], browser, auth)) == {"title": "Hello"}
    assert service.authorization.startswith("vapid t=")
    assert "/ada" in left
    assert "/gone" not in left
