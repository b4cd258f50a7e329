"""Fetches metadata by their URL, again when they are stale. If a fetch fails the stored ones stay in use.

The URL comes from an administrator, so only public hosts are fetched (no request forgery into the internal network), over https,
within limits of time and size.
Source: docs/reference/auth.md, section 13.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from workers.auth.delivery.context import DeliveryContext
from workers.auth.federation.saml import providers, xml
from workers.auth.federation.saml.metadata import BadMetadata, IdentityProvider, read_metadata
from workers.auth.federation.saml.providers import SamlRegistration, SsoProvider
from workers.auth.model import rejections
from workers.auth.model.error_codes import ErrorCode
from workers.auth.model.errors import AuthError
from workers.http_client.client import FetchFailed, HttpClient

_DAY = timedelta(hours=24)
_PAUSE = timedelta(minutes=5)
"""Between two fetches, so that a server that does not answer delays few sign-ins."""
_TIMEOUT_S = 5.0
_WANTED = {"accept": "application/samlmetadata+xml, application/xml, text/xml"}
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class MetadataDocument:
    """Metadata as text, and parsed."""

    text: str
    idp: IdentityProvider


def read_document(text: str) -> MetadataDocument:
    """Parse metadata. Raises: AuthError (400)."""
    try:
        return MetadataDocument(text, read_metadata(text.encode(errors="surrogatepass")))
    except BadMetadata as error:
        raise AuthError(ErrorCode.VALIDATION_FAILED, str(error)) from None


async def fetch(outgoing: HttpClient, url: str) -> MetadataDocument:
    """Fetch metadata. Raises: AuthError (400)."""
    if not url.lower().startswith("https://"):
        raise AuthError(ErrorCode.VALIDATION_FAILED, "SAML Metadata URL is not a HTTPS URL")
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
    return read_document(text)


def is_stale(saml: SamlRegistration, idp: IdentityProvider, now: datetime) -> bool:
    """Return whether fetched metadata are stale: by their own validity, or after a day."""
    if not saml.metadata_url:
        return False
    if saml.updated_at is None or (idp.valid_until is not None and idp.valid_until <= now):
        return True
    age = now - saml.updated_at
    # A time in the future is that of a clock that was set back since: how old they are is unknown.
    return age >= min(idp.cache_duration or _DAY, _DAY) or age < -_PAUSE


async def current_metadata(
    context: DeliveryContext, provider: SsoProvider, saml: SamlRegistration
) -> IdentityProvider:
    """Return a provider's metadata, fetched again if they are stale. Not inside a transaction.

    Raises: AuthError (400) if what is kept cannot be read.
    """
    stored, now = read_document(saml.metadata_xml).idp, context.now()
    if not saml.metadata_url or not is_stale(saml, stored, now):
        return stored
    async with context.transaction() as transaction:
        if not await providers.claim_metadata_refresh(transaction, provider.id, now, _PAUSE):
            return stored
    try:
        fetched = await fetch(context.outgoing, saml.metadata_url)
    except AuthError:  # the stored metadata may still be valid
        return stored
    if fetched.idp.entity_id != saml.entity_id:
        return stored
    async with context.transaction() as transaction:
        await providers.renew_metadata(transaction, provider.id, fetched.text, saml.metadata_url, now)
    return fetched.idp
