"""Builds the context of auth for the settings that apply now, at the start and whenever an administrator changes them.

A change is all or nothing: the context is built whole, with every check of a start, before a request can see it. What has
connections or threads (database, HTTP client, mail queue, hashing) is shared by the contexts, so that nothing is cut off.
"""

from collections.abc import Mapping
from typing import Any

from schemas.settings.auth import Argon2
from schemas.settings.overlay import effective_settings, strict_settings
from schemas.settings.tree import Settings
from workers.auth.accounts.passwords.hashing import Hashing
from workers.auth.build import build_context
from workers.auth.delivery.email.mail_services import (
    LiveMailServices,
    MailServices,
    external_url,
    mail_server_of,
    template_folders,
)
from workers.auth.delivery.smtp import SmtpEndpoint
from workers.auth.http.context import EndpointContext
from workers.credentials.password_hashes import Cost
from workers.database.connection_pool.pool import ConnectionPool
from workers.http_client.client import HttpClient
from workers.resources import Resources


class LiveAuthContext:
    """The contexts of one process, one after the other."""

    def __init__(
        self, resources: Resources, database: ConnectionPool, outgoing: HttpClient, mail: LiveMailServices
    ) -> None:
        self._live, self._database, self._outgoing, self._mail = resources.live, database, outgoing, mail
        self._hashing = Hashing(_cost(resources.settings.auth.password.argon2))
        self._services, self._settings = MailServices(), resources.settings

    @property
    def mail_server(self) -> SmtpEndpoint | None:
        """The mail server, or mail catcher, that emails are sent to; None without one."""
        return mail_server_of(self._settings)

    async def build(self) -> EndpointContext:
        """Build the context for the present settings, without stored ones that auth cannot work with, and send emails by them.

        Raises: SettingsError if the settings of the file cannot be used; Unavailable. Nothing has changed then.
        """
        live = self._live
        services = await self._mail.open(live.settings)
        usable = effective_settings(
            live.base, live.usable_values, lambda settings: self._context(settings, services)
        )
        services = await self._mail.open(usable.settings)
        context = self._context(usable.settings, services)
        if usable.ignored:
            live.report_ignored(usable.ignored)
        self._services, self._settings = services, usable.settings
        self._mail.use(usable.settings)
        return context

    def context_of(self, values: Mapping[str, Any]) -> EndpointContext:
        """Return a context for other stored values that no request of users sees: it checks them, or previews emails.

        Raises: SettingsError.
        """
        return self._context(strict_settings(self._live.base, values)[0])

    def _context(self, settings: Settings, services: MailServices | None = None) -> EndpointContext:
        services = services or self._services
        return build_context(
            settings.auth,
            self._database,
            self._hashing,
            self._outgoing,
            transport=services.transport,
            sms=services.sms,
            sender=services.sender,
            external_url=external_url(settings),
            folders=template_folders(),
        )


def _cost(argon2: Argon2) -> Cost:
    return Cost(argon2.memory_cost, argon2.time_cost, argon2.parallelism)
