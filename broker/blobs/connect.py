"""Create the client of an object store (S3, Google Cloud Storage, Azure) from the settings."""

from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from obstore.store import AzureStore, GCSStore, ObjectStore, S3Store

from schemas.settings.storage import S3, Azure, Gcs

if TYPE_CHECKING:  # these types of the library exist for the type checker only
    from obstore.store import AzureConfig, ClientConfig, GCSConfig, RetryConfig, S3Config

_CONNECT_S, _SILENCE_S = 5, 120
_WHOLE = timedelta(days=1)
"""The total time of a request is not limited, because a body takes as long as its reader; silence is limited instead."""
_RETRIES, _RETRY_S = 3, 30


class StoreSettings(Protocol):
    """The settings of a store: [storage], or [backup]."""

    @property
    def backend(self) -> str:
        """The kind of store."""

    @property
    def s3(self) -> S3:
        """The settings of S3."""

    @property
    def gcs(self) -> Gcs:
        """The settings of Google Cloud Storage."""

    @property
    def azure(self) -> Azure:
        """The settings of Azure Blob Storage."""


def connect(storage: StoreSettings) -> ObjectStore:
    """Return a client, without sending anything. Raises: ValueError for settings that the checks of settings reject."""
    match storage.backend:
        case "s3":
            return _s3(storage.s3)
        case "gcs":
            return _gcs(storage.gcs)
        case "azure":
            return _azure(storage.azure)
    raise ValueError("no outside store")


def _s3(settings: S3) -> ObjectStore:
    config: S3Config = {
        "region": settings.region,
        "virtual_hosted_style_request": not settings.force_path_style,
    }
    if settings.endpoint:
        config["endpoint"] = _endpoint(settings)
    if settings.access_key_id and settings.secret_access_key:
        config["access_key_id"] = settings.access_key_id.reveal()
        config["secret_access_key"] = settings.secret_access_key.reveal()
    return S3Store(
        settings.bucket,
        prefix=settings.prefix or None,
        config=config,
        client_options=_client(settings.allow_http),
        retry_config=_retry(),
    )


def _endpoint(settings: S3) -> str:
    """Return the endpoint for the library; it expects the bucket in the host name unless the path style is used."""
    url = settings.endpoint.rstrip("/")
    if settings.force_path_style:
        return url
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{settings.bucket}.{rest}"


def _gcs(settings: Gcs) -> ObjectStore:
    config: GCSConfig = {}
    if settings.service_account_key:
        config["service_account_key"] = settings.service_account_key.reveal()
    elif settings.service_account_path:
        config["service_account"] = settings.service_account_path
    return GCSStore(
        settings.bucket,
        prefix=settings.prefix or None,
        config=config,
        client_options=_client(allow_http=True),  # the account's file may name such an address
        retry_config=_retry(),
    )


def _azure(settings: Azure) -> ObjectStore:
    config: AzureConfig = {"account_name": settings.account_name}
    if settings.account_key:
        config["account_key"] = settings.account_key.reveal()
    if settings.endpoint:
        config["endpoint"] = settings.endpoint
    return AzureStore(
        settings.container,
        prefix=settings.prefix or None,
        config=config,
        client_options=_client(settings.allow_http),
        retry_config=_retry(),
    )


def _client(allow_http: bool) -> "ClientConfig":
    return {
        "allow_http": allow_http,
        "connect_timeout": timedelta(seconds=_CONNECT_S),
        "read_timeout": timedelta(seconds=_SILENCE_S),
        "timeout": _WHOLE,
    }


def _retry() -> "RetryConfig":
    return {"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=_RETRY_S)}
