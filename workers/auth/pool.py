"""Starts the auth pool of a process: its database login, hashing threads, outbox and signing keys.

When an administrator changes settings, a new context takes the place of the old one (`live_context.py`).

The file of signing keys is watched. When it changes, the next request signs with the new key, and the message KEYS_CHANGED
makes the gateways fetch the public keys again; a file that cannot be used leaves the keys as they are.
"""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

from broker.codec import encode
from broker.file_watch import FileWatch
from broker.nats.connection import NatsConnection
from broker.observability.observations import SigningKeysRead, SigningKeysRefused
from broker.observability.observe import observe
from broker.processes.key_file import read_key_file
from broker.requests.handler import RequestBody
from broker.subjects import AUTH, KEYS_CHANGED
from schemas.events import KeysChanged
from schemas.http import Request, Response
from schemas.settings.tree import Settings, SettingsError
from workers.auth.administration.serve import serve_administration
from workers.auth.build import key_file, with_keys
from workers.auth.cleanup import sweep_forever
from workers.auth.delivery.email.mail_services import LiveMailServices
from workers.auth.delivery.templates import read_templates
from workers.auth.http.context import EndpointContext
from workers.auth.live_context import LiveAuthContext
from workers.auth.worker import AuthWorker
from workers.credentials import webauthn_rules
from workers.http_client.client import HttpClient
from workers.resources import Resources

LOGIN = "supabase_auth_admin"
_PUBLISHED = "/.well-known/jwks.json"
_LEAST_CONNECTIONS = 3
"""One transaction that sends an email, one that sends a text message, and one for everything else (`SendingSlots`)."""


def warm_up() -> None:
    """Parse the default templates of emails before processes are forked, which then share them."""
    read_templates({}, ())


class AuthServer:
    """Serves requests with the context of the settings, and the signing keys, that apply now."""

    def __init__(self, context: EndpointContext, connection: NatsConnection, watch: FileWatch | None) -> None:
        self._context = context
        self._worker = AuthWorker(context)
        self._connection = connection
        self._watch = watch

    @property
    def context(self) -> EndpointContext:
        """The context of requests that arrive now."""
        return self._context

    def answer(self, request: Request, body: RequestBody) -> Awaitable[Response]:
        """Answer one request. The key file is checked before the public keys are returned, so they are never older than the file."""
        if request.path == _PUBLISHED:
            self.reload_keys()
        return self._worker.answer(request, body)

    def use(self, context: EndpointContext) -> None:
        """Answer later requests with another context; those under way finish with theirs."""
        self._context, self._worker = context, AuthWorker(context)

    def reload_keys(self) -> None:
        """Read the key file if it has changed, and notify the gateways. If it cannot be used, the keys stay as they are."""
        if self._watch is None or not self._watch.has_changed():
            return
        try:
            self.use(with_keys(self._context, read_key_file(self._watch.path)))
        except SettingsError as error:
            observe(SigningKeysRefused(str(error)))
            return
        observe(SigningKeysRead(len(self._context.public_keys)))
        self._connection.try_publish(KEYS_CHANGED.name, encode(KeysChanged()))


async def serve_pool(resources: Resources) -> None:
    """Answer requests of auth until the process drains. Raises: SettingsError, Unavailable."""
    settings = resources.settings.auth
    if (
        settings.passkey.enabled
        or settings.mfa.web_authn.enroll_enabled
        or settings.mfa.web_authn.verify_enabled
    ):
        webauthn_rules.load()
    database = await resources.login_as(LOGIN, least_connections=_LEAST_CONNECTIONS)
    outgoing = HttpClient()
    resources.process.on_drain(outgoing.close)
    contexts = LiveAuthContext(resources, database, outgoing, LiveMailServices(resources))
    watch = (
        FileWatch(key_file(settings)) if settings.signing_keys_path and settings.jwt_keys is None else None
    )
    server = AuthServer(await contexts.build(), resources.connection, watch)

    async def renew(_: Settings) -> None:
        server.use(await contexts.build())

    resources.live.on_change(renew)
    if watch is not None:
        watch.start(server.reload_keys)
        resources.process.on_drain(watch.stop)
    sweeper = asyncio.create_task(sweep_forever(lambda: server.context))
    resources.process.on_drain(lambda: _cancel(sweeper))
    await serve_administration(resources, contexts, lambda: server.context)
    await resources.serve(AUTH, server.answer)


async def _cancel(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait until it has stopped."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
