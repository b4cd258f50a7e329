"""Create signed URLs: for one object, for many, for an upload. Source: docs/reference/storage.md, section 6.10."""

import msgspec

from schemas.http import Response
from schemas.images.reading import BadTransform, transform_of_body
from schemas.images.transform import Transform, token_text
from workers.database.transactions.interactive import statement
from workers.storage.buckets.rows import read_rules
from workers.storage.model.errors import invalid_request
from workers.storage.model.names_and_sizes import parse_key, possible_key
from workers.storage.model.signed_urls import LONGEST_S
from workers.storage.objects.rows import SQL, readable_object
from workers.storage.requests.context import StorageContext
from workers.storage.requests.storage_request import StorageRequest, json_response
from workers.storage.uploads.model import Upload
from workers.storage.uploads.rows import policy_probe
from workers.storage.uploads.upload_headers import attributes_of

_MOST_PATHS = 1000
_HIDDEN = "Either the object does not exist or you do not have access to it"


async def one(context: StorageContext, request: StorageRequest) -> Response:
    """`POST object/sign/{bucket}/{path}`: a URL that reads one object, or a rendition of it."""
    read = request.read()
    lasts_s = read.integer("expiresIn", least=1, most=LONGEST_S, needed=True)
    transform_body = read.raw("transform")
    if transform_body is not None and not isinstance(transform_body, dict):
        read.faults.append("body/transform must be object")
    read.check()
    transform = _transform(context, transform_body)
    row = await readable_object(context, request, request.bucket, request.key)
    url = f"{request.bucket}/{row.name}"
    text = token_text(transform)
    token_format = "origin" if transform.format == "origin" else ""
    token = context.signer.download(url, lasts_s, transformations=text, format=token_format)
    area = "object/sign" if transform.is_empty else "render/image/sign"
    return json_response({"signedURL": _address(area, url, token)})


async def many(context: StorageContext, request: StorageRequest) -> Response:
    """`POST object/sign/{bucket}`: one entry for each path; the entry of an object that the caller may not see holds an
    error.
    """
    read = request.read()
    lasts_s = read.integer("expiresIn", least=1, most=LONGEST_S, needed=True)
    paths = read.texts("paths", least=1, most=_MOST_PATHS, needed=True)
    read.check()
    names = [possible_key(path) for path in paths]
    listed = msgspec.json.encode([name for name in names if name is not None])
    rows = await context.read(request.as_caller(), statement(SQL["visible_names"], request.bucket, listed))
    visible = set(msgspec.json.decode(rows[0][0][0] or b"[]", type=list[str]))
    return json_response(
        [
            _entry(context, request.bucket, path, name if name in visible else None, lasts_s)
            for path, name in zip(paths, names, strict=True)
        ]
    )


async def upload(context: StorageContext, request: StorageRequest) -> Response:
    """`POST object/upload/sign/{bucket}/{path}`: a URL that writes this one object on behalf of the caller."""
    read = request.read()
    usual = int(context.settings.upload_signed_url_expiration_time)
    lasts_s = read.integer("expiresIn", usual, least=1, most=LONGEST_S)
    read.check()
    key = parse_key(request.key, is_unicode=context.settings.unicode_keys)
    upload_plan = Upload(
        request.bucket,
        key,
        request.caller,
        request.caller.subject,
        request.is_true("x-upsert"),
        attributes_of(request),  # attributes of the later upload, whose length is unknown
    )
    await read_rules(context, request, request.bucket)
    await context.probe(request.as_caller(), policy_probe(upload_plan, key))
    url = f"{request.bucket}/{key}"
    token = context.signer.upload(url, lasts_s, upsert=upload_plan.is_upsert, owner=request.caller.subject)
    return json_response({"url": _address("object/upload/sign", url, token), "token": token})


def _entry(
    context: StorageContext, bucket: str, path: str, name: str | None, lasts_s: int
) -> dict[str, str | None]:
    if name is None:
        return {"error": _HIDDEN, "path": path, "signedURL": None}
    url = f"{bucket}/{name}"
    return {
        "error": None,
        "path": path,
        "signedURL": _address("object/sign", url, context.signer.download(url, lasts_s)),
    }


def _address(area: str, url: str, token: str) -> str:
    """Return a path below the service. Clients escape it themselves, except the characters that end a path."""
    escaped = url.replace("?", "%3F").replace("#", "%23")
    return f"/{area}/{escaped}?token={token}"


def _transform(context: StorageContext, body: object) -> Transform:
    if not isinstance(body, dict):
        return Transform()
    try:
        return transform_of_body(body, context.side_limits)
    except BadTransform as error:
        raise invalid_request(str(error)) from None
