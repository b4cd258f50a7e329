"""What headers of a request claim about its bucket: its owner, and whether it is public.

Access lists of single objects do not exist: a public bucket is readable without credentials, a private one by its policies. So the
`x-amz-acl` of an object is accepted if it is what the bucket does anyway, and rejected otherwise.
Source: docs/reference/storage.md, section 10.4; "Verifying bucket ownership" of the Amazon S3 user guide.
"""

from urllib.parse import unquote

from workers.storage.buckets.rows import read_rules
from workers.storage.model.errors import access_denied
from workers.storage.requests.context import StorageContext
from workers.storage.s3.protocol.errors import S3Error, invalid_argument
from workers.storage.s3.protocol.request import S3Request

_OWNER = "x-amz-expected-bucket-owner"
_SOURCE_OWNER = "x-amz-source-expected-bucket-owner"
_SOURCE = "x-amz-copy-source"
_ACL = "x-amz-acl"
_OF_THE_OWNER = ("", "bucket-owner-full-control", "bucket-owner-read")
"""Access lists that say what the bucket's owner may do: with one owner of everything they change nothing."""
_OF_OTHERS = ("public-read-write", "authenticated-read", "aws-exec-read", "log-delivery-write")


async def check_bucket_claims(context: StorageContext, request: S3Request, *, writes_object: bool) -> None:
    """Check the owner that a request expects, and the access list of an object it writes.

    Raises: S3Error (400, 501), StorageError (403, 404).
    """
    await _check_owner(context, request, request.bucket, request.header(_OWNER))
    if request.header(_SOURCE_OWNER) is not None:
        source = unquote((request.header(_SOURCE) or "").removeprefix("/")).partition("/")[0]
        await _check_owner(context, request, source, request.header(_SOURCE_OWNER))
    acl = (request.header(_ACL) or "").strip().lower()
    if writes_object and acl not in _OF_THE_OWNER:
        await _check_acl(context, request, acl)


async def _check_owner(
    context: StorageContext, request: S3Request, bucket: str, owner_id: str | None
) -> None:
    if owner_id is None or not bucket:
        return
    rules = await read_rules(context, request.storage_request, bucket)
    if owner_id.strip() != (rules.owner_id or ""):
        raise access_denied()


async def _check_acl(context: StorageContext, request: S3Request, acl: str) -> None:
    if acl not in ("private", "public-read", *_OF_OTHERS):
        raise invalid_argument(f"Unknown {_ACL}: {acl}")
    rules = await read_rules(context, request.storage_request, request.bucket)
    if acl != ("public-read" if rules.public else "private"):
        state = "public" if rules.public else "private"
        message = f"The header {_ACL} is not implemented for objects: {request.bucket} is a {state} bucket"
        raise S3Error("NotImplemented", message, 501, Header=_ACL)
