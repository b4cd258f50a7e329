"""The settings of the accounts -> what every endpoint works with. Everything that can be wrong is refused here."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from schemas.keys.key_file import read_key_file
from schemas.keys.signing import SigningKey, public_keys, read_signing_key
from schemas.settings.auth import Auth
from schemas.settings.files import find_file, setting_folders
from schemas.settings.tree import SettingsError
from workers.auth.accounts.codes.codes import code_key
from workers.auth.accounts.passwords.hashing import Hashing
from workers.auth.context import Accounts
from workers.auth.delivery.email.mail_hosts import MailHosts
from workers.auth.delivery.email.outbox import Outbox
from workers.auth.delivery.hooks.reading import read_services
from workers.auth.delivery.hooks.runner import Hooks
from workers.auth.delivery.message import Sender, read_sender
from workers.auth.delivery.post import Post, post_of
from workers.auth.delivery.remote_templates import RemoteTemplates, urls_of
from workers.auth.delivery.sms.registry import make_sender
from workers.auth.delivery.sms.sender import SmsSender
from workers.auth.delivery.sms.test_numbers import read_test_numbers
from workers.auth.delivery.sms.wording import read_wording
from workers.auth.delivery.templates import read_templates, sources_of
from workers.auth.flows.globs import BadGlob
from workers.auth.flows.redirects import RedirectRules
from workers.auth.vault import read_vault
from workers.database.pool import Pool
from workers.http_client.client import Outgoing

_GATEWAY = "http://127.0.0.1:54321/auth/v1"
_NOBODY = "no-reply@localhost"


def build_accounts(
    own: Auth,
    database: Pool,
    hashing: Hashing,
    outgoing: Outgoing,
    *,
    post: Post | None = None,
    sms: SmsSender | None = None,
    sender: Sender | None = None,
    external_url: str = "",
    folders: Sequence[Path] = (),
    clock: Callable[[], float] = time.time,
) -> Accounts:
    """Make what endpoints work with; as `build_outbox` for what is sent. Raises: SettingsError.

    `external_url` is where this service is reached, where the settings do not say it.
    """
    # Links, callbacks and tokens name where the service is reached: on the gateway, unless the settings say it.
    own = msgspec.structs.replace(own, external_url=own.external_url or external_url or _GATEWAY)
    keys = key_text(own)
    outbox = build_outbox(
        own,
        database,
        outgoing,
        post=post,
        sms=sms,
        sender=sender,
        folders=folders,
        clock=clock,
    )
    return Accounts(
        own,
        database,
        hashing,
        signing_key(own, keys),
        clock,
        public_keys=tuple(public_keys(keys)),
        vault=read_vault(own),
        code_key=code_key(own.jwt_secret),
        redirects=redirect_rules(own),
        outgoing=outgoing,
        outbox=outbox,
        hooks=outbox.hooks,
    )


def build_outbox(
    own: Auth,
    database: Pool,
    outgoing: Outgoing,
    *,
    post: Post | None,
    sms: SmsSender | None,
    sender: Sender | None,
    folders: Sequence[Path],
    clock: Callable[[], float],
) -> Outbox:
    """Make what sends mails and messages. Raises: SettingsError.

    `post` takes letters in place of the mail server of the settings; `sms` and `sender` (who letters come from) are used
    where the settings name none.
    `folders` are those in which the project's templates are sought.
    """
    smtp = own.email.smtp
    named = read_sender(smtp) if smtp.admin_email else sender or Sender(_NOBODY, smtp.sender_name)
    return Outbox(
        own,
        database,
        post=post or post_of(smtp),
        templates=read_templates(sources_of(own.email), folders),
        remote=RemoteTemplates(urls_of(own.email, own.site_url), outgoing, clock),
        sender=named,
        external_url=own.external_url,
        sms=make_sender(own.sms, outgoing.session()) if own.sms.sender else sms,
        wording=read_wording(own.sms.template),
        mfa_wording=read_wording(own.mfa.phone.template, "auth.mfa.phone.template"),
        tests=read_test_numbers(own.sms),
        clock=clock,
        hosts=MailHosts(clock),
        hooks=Hooks(read_services(own.hook, database, outgoing)),
    )


def redirect_rules(own: Auth) -> RedirectRules:
    """Read where browsers may be sent. Raises: SettingsError."""
    try:
        return RedirectRules(own.site_url, own.additional_redirect_urls)
    except BadGlob as error:
        raise SettingsError(f"auth.additional_redirect_urls: {error}") from None


def key_text(own: Auth) -> str:
    """Give the list of JWKs that the settings hold or name; empty without one. Raises: SettingsError."""
    if own.jwt_keys is not None:
        return own.jwt_keys.reveal()
    if not own.signing_keys_path:
        return ""
    return read_key_file(key_file(own))


def key_file(own: Auth) -> Path:
    """Give the file of signing keys that the settings name."""
    return find_file(own.signing_keys_path, setting_folders())


def with_keys(accounts: Accounts, keys: str) -> Accounts:
    """Give the same accounts with the keys of another list: what signs, and what everybody is shown.

    Raises: SettingsError.
    """
    key = signing_key(accounts.settings, keys)
    return replace(accounts, key=key, public_keys=tuple(public_keys(keys)))


def signing_key(own: Auth, keys: str) -> SigningKey:
    """Give the key that signs access tokens: of the list of JWKs if there is one, else the shared secret.

    Raises: SettingsError.
    """
    if keys:
        try:
            return read_signing_key(keys)
        except ValueError as error:
            raise SettingsError(f"auth.jwt_keys or auth.signing_keys_path cannot be used: {error}") from None
    return SigningKey(own.jwt_secret.reveal(), "HS256", own.jwt_key_id)
