"""The environment names of the official storage server, with the keys of ours that they set: only a table.

A self-hoster's environment is read unchanged. Source: docs/reference/storage.md, section 14; the last names of a key are older ones
that its container files still use.
"""

from schemas.settings.gotrue_names import Alias

STANDARD_LIMIT = "UPLOAD_FILE_SIZE_LIMIT_STANDARD"
"""Takes precedence over the names that set both limits, so it is listed before them."""

_KEYS: dict[str, str] = {
    STANDARD_LIMIT: "file_size_limit",
    "UPLOAD_SIGNED_URL_EXPIRATION_TIME": "upload_signed_url_expiration_time",
    "STORAGE_BACKEND": "backend",
    "STORAGE_FILE_BACKEND_PATH": "path",
    "STORAGE_S3_BUCKET": "s3.bucket",
    "STORAGE_S3_ENDPOINT": "s3.endpoint",
    "STORAGE_S3_REGION": "s3.region",
    "STORAGE_S3_FORCE_PATH_STYLE": "s3.force_path_style",
    "AWS_ACCESS_KEY_ID": "s3.access_key_id",
    "AWS_SECRET_ACCESS_KEY": "s3.secret_access_key",
    "S3_PROTOCOL_ENABLED": "s3_protocol.enabled",
    "S3_PROTOCOL_ACCESS_KEY_ID": "s3_protocol.access_key_id",
    "S3_PROTOCOL_ACCESS_KEY_SECRET": "s3_protocol.secret_access_key",
    "STORAGE_PUBLIC_URL": "public_url",
    "IMAGE_TRANSFORMATION_ENABLED": "image_transformation.enabled",
    "IMAGE_TRANSFORMATION_LIMIT_MIN_SIZE": "image_transformation.limit_min_size",
    "IMAGE_TRANSFORMATION_LIMIT_MAX_SIZE": "image_transformation.limit_max_size",
    "WEBHOOK_URL": "webhook_url",
    "WEBHOOK_API_KEY": "webhook_api_key",
    "CDN_PURGE_ENDPOINT_URL": "cdn_purge_endpoint_url",
    "CDN_PURGE_ENDPOINT_KEY": "cdn_purge_endpoint_key",
    "FILE_STORAGE_BACKEND_PATH": "path",
    "GLOBAL_S3_BUCKET": "s3.bucket",
    "GLOBAL_S3_ENDPOINT": "s3.endpoint",
    "GLOBAL_S3_FORCE_PATH_STYLE": "s3.force_path_style",
    "ENABLE_IMAGE_TRANSFORMATION": "image_transformation.enabled",
}
_BOTH_LIMITS = ("UPLOAD_FILE_SIZE_LIMIT", "FILE_SIZE_LIMIT")
"""Limit every upload of the official server, of every kind."""


def _alias(key: str, unit: str = "") -> Alias:
    return Alias(("storage", *key.split(".")), unit=unit)


STORAGE_NAMES: dict[str, tuple[Alias, ...]] = (
    {name: (_alias(key),) for name, key in _KEYS.items()}
    | {"TUS_URL_EXPIRY_MS": (_alias("tus_expiry", unit="ms"),)}
    | {name: (_alias("upload_file_size_limit"), _alias("file_size_limit")) for name in _BOTH_LIMITS}
)
"""Every name with the keys it sets; where several set one key, the one with precedence is first."""
