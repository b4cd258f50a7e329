"""A worker of the pool management whose requests reach a running pool auth, over a real broker."""

import json
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import asyncpg
import msgspec
import pytest

from broker.nats.connection import NatsConnection
from broker.requests.call import Calls
from broker.subjects import AUTH
from schemas.caller import AnonymousCaller, Caller
from schemas.http import Request
from schemas.keys.secret import Secret
from schemas.keys.token_keys import read_keys
from schemas.keys.tokens import Verifier
from schemas.settings.tree import Broker, Db, Settings
from schemas.settings.types import Quota
from services.mail_catcher.mailbox import CaughtMail
from services.mail_catcher.smtp import SmtpServer
from tests.broker.server import running_server
from tests.workers.auth.auth_pool import PASSWORD
from tests.workers.auth.running_pool import running_auth
from tests.workers.database.server import connected
from tests.workers.management.conftest import Client
from workers.management.interface.backends.platform_pools import PlatformPools
from workers.management.interface.rights import Right
from workers.management.worker import ManagementWorker

replaced = msgspec.structs.replace


@dataclass
class Project:
    """A running pool auth: an administrator's client, requests of users, the database, the emails that were sent."""

    worker: ManagementWorker
    calls: Calls
    admin: asyncpg.Connection
    superuser_url: str
    mail: CaughtMail
    settings: Settings

    async def auth(
        self, method: str, path: str, body: object = None, caller: Caller | None = None
    ) -> tuple[int, Any]:
        """Send a request to auth as a client of the project does; return status and JSON."""
        path, _, query = path.partition("?")
        data = b"" if body is None else json.dumps(body).encode()
        request = Request(
            "request-2",
            method,
            path,
            query,
            caller=caller or AnonymousCaller(),
            body=data,
            client="192.0.2.9",
        )
        reply = await self.calls.call(AUTH, request)
        return reply.response.status, json.loads(reply.response.body or b"null")

    async def sign_up(self, email: str | None = None) -> dict[str, Any]:
        """Sign a user up and return the session."""
        body = {"email": email or f"{uuid.uuid4().hex}@example.org", "password": PASSWORD}
        status, session = await self.auth("POST", "/signup", body)
        assert status == 200, session
        return dict(session)

    def caller(self, token: str) -> Caller:
        """Return the caller of an access token, verified as the gateway does."""
        verifier = Verifier(read_keys(self.settings.auth.jwt_secret.reveal()))
        return verifier.verify(token, time.time())


@pytest.fixture(scope="package")
async def project(worker: tuple[ManagementWorker, str]) -> AsyncIterator[Project]:
    """One for this folder."""
    management, url = worker
    mail = CaughtMail()
    server = SmtpServer(mail.add)
    await server.start("127.0.0.1", 0)
    async with running_server() as nats, connected(url) as admin:
        settings = _settings(url, nats.url, server.port)
        connection = await NatsConnection.open(nats.url, name="management")
        async with running_auth(settings):
            calls = Calls(connection)
            asking = replace(management, pools=PlatformPools(calls))
            yield Project(asking, calls, admin, url, mail, settings)
        await connection.drain()
    server.stop()


@pytest.fixture
async def developer(project: Project) -> Client:
    """A developer's client."""
    visitor = Client(project.worker, project.superuser_url)
    return await visitor.signed_in(f"{uuid.uuid4().hex}@example.com", Right.DEVELOPER)


@pytest.fixture
async def reader(project: Project) -> Client:
    """A reader's client."""
    visitor = Client(project.worker, project.superuser_url)
    return await visitor.signed_in(f"{uuid.uuid4().hex}@example.com", Right.READER)


def _settings(url: str, broker_url: str, smtp_port: int) -> Settings:
    """Return settings without limits, with passkeys, text messages and the OAuth server, whose emails come to this process."""
    plain = Settings()
    auth = replaced(
        plain.auth,
        email=replaced(plain.auth.email, max_frequency=0.0),
        sms=replaced(plain.auth.sms, enable_signup=True, max_frequency=0.0),
        passkey=replaced(plain.auth.passkey, enabled=True),
        oauth_server=replaced(plain.auth.oauth_server, enabled=True),
        rate_limit=replaced(
            plain.auth.rate_limit,
            email_sent=Quota("0"),
            sms_sent=Quota("0"),
            sign_in_sign_ups=0.0,
            token_verifications=0.0,
        ),
    )
    return replaced(
        plain,
        auth=auth,
        db=Db(url=Secret(url), pool_size=4),
        broker=Broker(url=Secret(broker_url)),
        inbucket=replaced(plain.inbucket, smtp_port=smtp_port),
    )
