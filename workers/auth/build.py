"""Builds the context of all endpoints from the settings.

Everything that can be wrong in the settings of auth is rejected here, when the pool starts, with a SettingsError.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from broker.processes.key_file import read_key_file
from broker.processes.setting_files import find_file, setting_folders
from schemas.keys.sealing_keys import sealing_texts
from schemas.keys.secret import Secret
from schemas.keys.signing import SigningKey, public_keys, read_signing_key
from schemas.settings.auth import Auth
from schemas.settings.tree import SettingsError
from workers.auth.accounts.passwords.hashing import Hashing
from workers.auth.delivery.email.mail_hosts import MailHosts
from workers.auth.delivery.email.outbox import MailOutbox, SendingSlots
from workers.auth.delivery.hooks.runner import HookRunner
from workers.auth.delivery.hooks.targets import read_hook_targets
from workers.auth.delivery.message import MailSender, read_sender
from workers.auth.delivery.remote_templates import RemoteTemplates, urls_of
from workers.auth.delivery.sms.registry import make_sender
from workers.auth.delivery.sms.sender import SmsSender
from workers.auth.delivery.sms.test_numbers import read_test_numbers
from workers.auth.delivery.sms.wording import read_wording
from workers.auth.delivery.templates import read_templates, sources_of
from workers.auth.delivery.transport import MailTransport, transport_of
from workers.auth.http.context import EndpointContext
from workers.auth.model.codes import code_key
from workers.auth.model.redirects.allow_list import RedirectRules
from workers.auth.model.redirects.globs import BadGlob
from workers.auth.model.vault import read_vault
from workers.database.connection_pool.pool import ConnectionPool
from workers.http_client.client import HttpClient

_GATEWAY = "http://127.0.0.1:54321/auth/v1"
_DEFAULT_SENDER = "no-reply@localhost"


def build_context(
    settings: Auth,
    database: ConnectionPool,
    hashing: Hashing,
    outgoing: HttpClient,
    *,
    transport: MailTransport | None = None,
    sms: SmsSender | None = None,
    sender: MailSender | None = None,
    external_url: str = "",
    folders: Sequence[Path] = (),
    clock: Callable[[], float] = time.time,
) -> EndpointContext:
    """Build the context of all endpoints; `build_outbox` explains the arguments about sending. Raises: SettingsError.

    `external_url` is the public address of auth if the settings do not set one.
    """
    # Links in emails, callback URLs and the issuer of tokens contain the public address: the local gateway by default.
    settings = msgspec.structs.replace(
        settings, external_url=settings.external_url or external_url or _GATEWAY
    )
    keys = key_text(settings)
    outbox = build_outbox(
        settings,
        database,
        outgoing,
        transport=transport,
        sms=sms,
        sender=sender,
        folders=folders,
        clock=clock,
    )
    return EndpointContext(
        settings=settings,
        database=database,
        hashing=hashing,
        key=signing_key(settings, keys),
        clock=clock,
        public_keys=tuple(public_keys(keys)),
        vault=read_vault(settings),
        code_key=code_key(_code_secret(settings)),
        redirects=redirect_rules(settings),
        outgoing=outgoing,
        outbox=outbox,
        hooks=outbox.hooks,
    )


def build_outbox(
    settings: Auth,
    database: ConnectionPool,
    outgoing: HttpClient,
    *,
    transport: MailTransport | None,
    sms: SmsSender | None,
    sender: MailSender | None,
    folders: Sequence[Path],
    clock: Callable[[], float],
) -> MailOutbox:
    """Build what sends emails and text messages. Raises: SettingsError.

    `transport` takes emails instead of the mail server of the settings. `sms` and `sender` (the From address) apply where the
    settings name none. Email templates of the project are looked up in `folders`.
    """
    smtp = settings.email.smtp
    from_address = (
        read_sender(smtp) if smtp.admin_email else sender or MailSender(_DEFAULT_SENDER, smtp.sender_name)
    )
    return MailOutbox(
        settings,
        database,
        transport=transport or transport_of(smtp),
        templates=read_templates(sources_of(settings.email), folders),
        remote=RemoteTemplates(urls_of(settings.email, settings.site_url), outgoing, clock),
        sender=from_address,
        external_url=settings.external_url,
        sms=make_sender(settings.sms, outgoing.session()) if settings.sms.sender else sms,
        wording=read_wording(settings.sms.template),
        mfa_wording=read_wording(settings.mfa.phone.template, "auth.mfa.phone.template"),
        tests=read_test_numbers(settings.sms),
        clock=clock,
        hosts=MailHosts(clock),
        slots=SendingSlots(database.size),
        hooks=HookRunner(read_hook_targets(settings.hook, database, outgoing)),
    )


def redirect_rules(settings: Auth) -> RedirectRules:
    """Compile the redirect allow list. Raises: SettingsError."""
    try:
        return RedirectRules(settings.site_url, settings.additional_redirect_urls)
    except BadGlob as error:
        raise SettingsError(f"auth.additional_redirect_urls: {error}") from None


def key_text(settings: Auth) -> str:
    """Return the JSON list of JWKs that the settings contain or name as a file; empty if neither. Raises: SettingsError."""
    if settings.jwt_keys is not None:
        return settings.jwt_keys.reveal()
    if not settings.signing_keys_path:
        return ""
    return read_key_file(key_file(settings))


def key_file(settings: Auth) -> Path:
    """Return the path of the file of signing keys that the settings name."""
    return find_file(settings.signing_keys_path, setting_folders())


def with_keys(context: EndpointContext, keys: str) -> EndpointContext:
    """Return the context with another list of JWKs: the signing key and the published keys change. Raises: SettingsError."""
    key = signing_key(context.settings, keys)
    return replace(context, key=key, public_keys=tuple(public_keys(keys)))


def signing_key(settings: Auth, keys: str) -> SigningKey:
    """Return the key that signs access tokens: of the list of JWKs if there is one, else the shared secret (HS256).

    Raises: SettingsError.
    """
    if keys:
        try:
            return read_signing_key(keys)
        except ValueError as error:
            raise SettingsError(f"auth.jwt_keys or auth.signing_keys_path cannot be used: {error}") from None
    return SigningKey(settings.jwt_secret.reveal(), "HS256", settings.jwt_key_id)


def _code_secret(settings: Auth) -> Secret:
    """Return the secret of one-time codes: a sealing key, which no reader of their MACs has; the JWT secret where there is none."""
    texts = sealing_texts(settings)
    return Secret(texts[0]) if texts else settings.jwt_secret
