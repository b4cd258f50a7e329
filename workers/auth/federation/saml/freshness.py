"""Metadata by their address: fetched, and fetched again when they are old. A failed fetch keeps those that are there.

The address is an administrator's word, so only public hosts are asked, over https, within limits of time and size.
Source: reference page "auth", section 13.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from workers.auth.context import Accounts
from workers.auth.federation.saml import providers, xml
from workers.auth.federation.saml.metadata import BadMetadata, IdentityProvider, read_metadata
from workers.auth.federation.saml.providers import Provider, Saml
from workers.auth.model import rejections
from workers.auth.model.error_codes import Code
from workers.auth.model.errors import AuthError
from workers.http_client.client import FetchFailed, Outgoing

_DAY = timedelta(hours=24)
_PAUSE = timedelta(minutes=5)
"""Between two tries, so that an address that does not answer holds up few sign-ins."""
_TIMEOUT_S = 5.0
_WANTED = {"accept": "application/samlmetadata+xml, application/xml, text/xml"}
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Metadata:
    """Metadata as they are kept, and what they say."""

    text: str
    idp: IdentityProvider


def read(text: str) -> Metadata:
    """Read metadata that somebody gave. Raises: AuthError (400)."""
    try:
        return Metadata(text, read_metadata(text.encode(errors="surrogatepass")))
    except BadMetadata as error:
        raise AuthError(Code.VALIDATION_FAILED, str(error)) from None


async def fetch(outgoing: Outgoing, url: str) -> Metadata:
    """Fetch metadata. Raises: AuthError (400)."""
    if not url.lower().startswith("https://"):
        raise AuthError(Code.VALIDATION_FAILED, "SAML Metadata URL is not a HTTPS URL")
    try:
        answer = await outgoing.fetch(
            "GET", url, headers=_WANTED, timeout_s=_TIMEOUT_S, most_bytes=xml.MOST_BYTES, only_public=True
        )
    except FetchFailed as error:
        raise rejections.SAML_METADATA_UNREACHED(reason=str(error)) from None
    if answer.status != 200:
        raise rejections.SAML_METADATA_UNREACHED(reason=f"the answer has the status {answer.status}")
    try:
        text = answer.body.decode().removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError:
        raise rejections.SAML_METADATA_UNREACHED(reason="it is no UTF-8") from None
    return read(text)


def is_stale(saml: Saml, idp: IdentityProvider, now: datetime) -> bool:
    """Tell whether metadata with an address are too old: by their own word, or after a day."""
    if not saml.metadata_url:
        return False
    if saml.updated_at is None or (idp.valid_until is not None and idp.valid_until <= now):
        return True
    return saml.updated_at + min(idp.cache_duration or _DAY, _DAY) <= now


async def current(accounts: Accounts, provider: Provider, saml: Saml) -> IdentityProvider:
    """Give what a provider says of itself, asked again if it is old. Not within a transaction.

    Raises: AuthError (400) if what is kept cannot be read.
    """
    kept, now = read(saml.metadata_xml).idp, accounts.now()
    if not saml.metadata_url or not is_stale(saml, kept, now):
        return kept
    async with accounts.transaction() as transaction:
        if not await providers.may_ask_metadata(transaction, provider.id, now, _PAUSE):
            return kept
    try:
        found = await fetch(accounts.outgoing, saml.metadata_url)
    except AuthError:  # what is there may still do
        return kept
    if found.idp.entity_id != saml.entity_id:
        return kept
    async with accounts.transaction() as transaction:
        await providers.renew_metadata(transaction, provider.id, found.text, saml.metadata_url, now)
    return found.idp
