"""Checks of [storage]: values of the right type that cannot work, alone or together (pure).

An error is a sentence with the keys in braces; it never contains a secret. Source: docs/reference/storage.md, sections 4 and 14.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

from schemas.settings.storage import BACKENDS, Storage

_LONGEST_BUCKET = 100
_LEAST_EXPIRY_S = 600
_LEAST_LIMIT = "{storage.image_transformation.limit_min_size}"


def storage_fault(storage: Storage) -> str | None:
    """Return the first error, or None."""
    return next(_faults(storage), None)


def _faults(storage: Storage) -> Iterator[str]:
    if storage.backend not in BACKENDS:
        yield f"{{storage.backend}} is '{storage.backend}' but must be one of {', '.join(BACKENDS)}"
    yield from _place_faults(storage)
    yield from _key_pair_faults(storage)
    yield from _address_faults(storage)
    yield from _webhook_faults(storage)
    yield from _expiry_faults(storage)
    images = storage.image_transformation
    if images.limit_min_size > images.limit_max_size:
        yield f"{_LEAST_LIMIT} must not be above {{storage.image_transformation.limit_max_size}}"
    for name in storage.buckets:
        if not 1 <= len(name) <= _LONGEST_BUCKET or name != name.strip():
            yield f"{{storage.buckets}} has '{name}'; a bucket's name has 1 to {_LONGEST_BUCKET} signs and no space at its ends"


def _place_faults(storage: Storage) -> Iterator[str]:
    needed = {
        "s3": {"bucket": storage.s3.bucket},
        "gcs": {"bucket": storage.gcs.bucket},
        "azure": {"container": storage.azure.container, "account_name": storage.azure.account_name},
    }
    for key, value in needed.get(storage.backend, {}).items():
        if not value:
            yield f"{{storage.{storage.backend}.{key}}} must be set where {{storage.backend}} is {storage.backend}"


def _key_pair_faults(storage: Storage) -> Iterator[str]:
    for section, pair in (("s3", storage.s3), ("s3_protocol", storage.s3_protocol)):
        is_used = (
            section != "s3" or storage.backend == "s3"
        )  # the environment may contain the keys of another tool
        if is_used and bool(pair.access_key_id) is not bool(pair.secret_access_key):
            yield f"{{storage.{section}.access_key_id}} and {{storage.{section}.secret_access_key}} go together: set both or none"


def _address_faults(storage: Storage) -> Iterator[str]:
    for key, url, takes_http in (
        ("public_url", storage.public_url, True),
        ("s3.endpoint", storage.s3.endpoint, storage.s3.allow_http),
        ("azure.endpoint", storage.azure.endpoint, storage.azure.allow_http),
    ):
        if not url:
            continue
        if not _is_address(url):
            yield f"{{storage.{key}}} must be a URL such as https://storage.example.org"
        elif not takes_http and urlsplit(url).scheme == "http":
            allow = f"storage.{key.partition('.')[0]}.allow_http"
            yield f"{{storage.{key}}} begins with http://, which {{{allow}}} forbids"


def _expiry_faults(storage: Storage) -> Iterator[str]:
    """The bytes of a running upload must not expire."""
    for key, value in (("staging_expiry", storage.staging_expiry), ("orphan_expiry", storage.orphan_expiry)):
        if value < _LEAST_EXPIRY_S:
            yield f"{{storage.{key}}} must be {_LEAST_EXPIRY_S} seconds or more: uploads that go on would be removed"
    if 0 < storage.staging_limit < storage.largest_standard:
        yield "{storage.staging_limit} must not be below {storage.file_size_limit}, or 0"


def _webhook_faults(storage: Storage) -> Iterator[str]:
    """The URL may contain a key, so no error text contains it."""
    url = storage.webhook_url.reveal() if storage.webhook_url else ""
    if url and not _is_address(url):
        yield "{storage.webhook_url} must be a URL such as https://example.org/events"
    elif storage.webhook_api_key and "@" in urlsplit(url).netloc:
        yield "{storage.webhook_url} names a user, which cannot stand beside {storage.webhook_api_key}"
    if not storage.webhook_give_up or 0 < storage.events_max_age < storage.webhook_give_up:
        yield "{storage.webhook_give_up} must be above 0 and not above {storage.events_max_age}"
    purge = storage.cdn_purge_endpoint_url.reveal() if storage.cdn_purge_endpoint_url else ""
    if purge and not _is_address(purge):
        yield "{storage.cdn_purge_endpoint_url} must be a URL such as https://example.org/cdn"
    for name, secret in (
        ("webhook_api_key", storage.webhook_api_key),
        ("cdn_purge_endpoint_key", storage.cdn_purge_endpoint_key),
    ):
        key = secret.reveal() if secret else ""
        if not (key.isascii() and key.isprintable()):
            yield f"{{storage.{name}}} must have printable ASCII signs only: it is sent in a header"


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
