"""Operations that make addresses of objects: signed, for uploads of a browser, public, and of renditions."""

from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct, field

from schemas.http import Headers
from schemas.images.reading import BadTransform, SideLimits, transform_of_body
from schemas.keys.secret_record import SecretRecord
from workers.management.interface.backends.pool_answers import path_part, path_tail
from workers.management.interface.errors import invalid_arguments
from workers.management.interface.operation import Operation, OperationContext
from workers.management.interface.rights import Right
from workers.management.operations.storage_buckets import ask_storage
from workers.management.operations.storage_objects import ObjectPath

_PREFIX = "/storage/v1"
_UPSERT: Headers = [("x-upsert", "true")]


class SigningRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """An object, and for how many seconds its address is valid: a week at most."""

    bucket: str
    name: str
    lasts_s: int = 3600


class ObjectUrl(Struct, frozen=True):
    """An address of an object. Without a configured public address it begins with the one of this request."""

    url: str


class UploadSigning(Struct, frozen=True, forbid_unknown_fields=True):
    """An object to upload; `replaces`: one that exists may be replaced."""

    bucket: str
    name: str
    lasts_s: int = 3600
    replaces: bool = False


class UploadUrls(SecretRecord, Struct, frozen=True):
    """Where a browser uploads the object itself, without a key.

    `url`: one PUT with the bytes. `resumable_url`: a TUS upload whose requests carry `headers` and the metadata `bucketName` and
    `objectName` of `metadata`.
    """

    url: str
    token: str
    resumable_url: str
    headers: dict[str, str]
    metadata: dict[str, str]


class RenditionRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A rendition of an image: sides in pixels; `resize` is cover, contain or fill; `format` such as webp; quality 20 to 100."""

    bucket: str
    name: str
    width: int | None = None
    height: int | None = None
    resize: str | None = None
    format: str | None = None
    quality: int | None = None
    lasts_s: int = 3600
    """Of a private bucket: for how many seconds the address is valid."""


class _SignedUrl(Struct, frozen=True):
    url: str = field(name="signedURL")


class _SignedUpload(SecretRecord, Struct, frozen=True):
    token: str


class _Bucket(Struct, frozen=True):
    public: bool = False


async def sign(context: OperationContext, arguments: SigningRequest) -> ObjectUrl:
    """Return an address that reads one object without a key."""
    return await _signed(context, arguments.bucket, arguments.name, {"expiresIn": arguments.lasts_s})


async def sign_upload(context: OperationContext, arguments: UploadSigning) -> UploadUrls:
    """Return an address with which a browser uploads one object, in one request or resumable."""
    path = f"/object/upload/sign/{path_part(arguments.bucket)}/{path_tail(arguments.name)}"
    answer = await ask_storage(
        context, "POST", path, {"expiresIn": arguments.lasts_s}, headers=_UPSERT if arguments.replaces else []
    )
    signed = msgspec.json.decode(answer.body, type=_SignedUpload)
    base = _base(context)
    return UploadUrls(
        f"{base}{path}?token={signed.token}",
        signed.token,
        f"{base}/upload/resumable/sign",
        {"x-signature": signed.token, "tus-resumable": "1.0.0"},
        {"bucketName": arguments.bucket, "objectName": arguments.name},
    )


async def public_url(context: OperationContext, arguments: ObjectPath) -> ObjectUrl:
    """Return the address of an object of a public bucket."""
    if not await _is_public(context, arguments.bucket):
        raise invalid_arguments(
            f"The bucket {arguments.bucket} is not public: make it so, or use storage.sign"
        )
    return ObjectUrl(
        f"{_base(context)}/object/public/{path_part(arguments.bucket)}/{path_tail(arguments.name)}"
    )


async def rendition_url(context: OperationContext, arguments: RenditionRequest) -> ObjectUrl:
    """Return the address of a rendition of an image; of a private bucket it is signed."""
    names = ("width", "height", "resize", "format", "quality")
    values = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    storage = context.configuration.storage
    limits = SideLimits(
        storage.image_transformation.limit_min_size, storage.image_transformation.limit_max_size
    )
    try:
        transform_of_body(values, limits)
    except BadTransform as error:
        raise invalid_arguments(str(error)) from None
    if not await _is_public(context, arguments.bucket):
        body = {"expiresIn": arguments.lasts_s, "transform": values}
        return await _signed(context, arguments.bucket, arguments.name, body)
    path = f"/render/image/public/{path_part(arguments.bucket)}/{path_tail(arguments.name)}"
    return ObjectUrl(f"{_base(context)}{path}?{urlencode(values)}")


async def _signed(context: OperationContext, bucket: str, name: str, body: dict[str, Any]) -> ObjectUrl:
    path = f"/object/sign/{path_part(bucket)}/{path_tail(name)}"
    answer = await ask_storage(context, "POST", path, body)
    signed = msgspec.json.decode(answer.body, type=_SignedUrl).url
    token = signed.rpartition("?token=")[2]
    area = "render/image/sign" if signed.startswith("/render/") else "object/sign"
    return ObjectUrl(f"{_base(context)}/{area}/{path_part(bucket)}/{path_tail(name)}?token={token}")


async def _is_public(context: OperationContext, bucket: str) -> bool:
    answer = await ask_storage(context, "GET", f"/bucket/{path_part(bucket)}")
    return msgspec.json.decode(answer.body, type=_Bucket).public


def _base(context: OperationContext) -> str:
    """Return the address of storage for clients."""
    return (context.configuration.storage.public_url.rstrip("/") or context.public_url) + _PREFIX


def operations() -> list[Operation]:
    """Return the operations of this module."""
    reader, developer = Right.READER, Right.DEVELOPER
    return [
        Operation("storage.sign", "Sign an address that reads an object", SigningRequest, ObjectUrl, reader, sign),
        Operation(
            "storage.sign_upload",
            "Sign an address for an upload by a browser",
            UploadSigning,
            UploadUrls,
            developer,
            sign_upload,
            changes=True,
        ),
        Operation("storage.public_url", "The address of a public object", ObjectPath, ObjectUrl, reader, public_url),
        Operation("storage.rendition_url", "The address of a rendition", RenditionRequest, ObjectUrl, reader, rendition_url),
    ]  # fmt: skip
