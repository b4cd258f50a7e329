"""Signed URLs: made for one object, for many, for an upload. Source: reference page "storage", section 6.10."""

import msgspec

from schemas.http import Response
from schemas.images.reading import BadTransform, transform_of_body
from schemas.images.transform import Transform, token_text
from workers.database.interactive import statement
from workers.storage.asked import Asked, answer
from workers.storage.buckets import rules_of
from workers.storage.context import Store
from workers.storage.endpoints.upload import about_of
from workers.storage.errors import invalid_request
from workers.storage.objects import SQL, readable_object
from workers.storage.rules import parse_key, possible_key
from workers.storage.signing import LONGEST_S
from workers.storage.uploads import Upload, probe_of

_MOST_PATHS = 1000
_HIDDEN = "Either the object does not exist or you do not have access to it"


async def one(store: Store, asked: Asked) -> Response:
    """`POST object/sign/{bucket}/{path}`: reads one object, or a picture made of it."""
    read = asked.read()
    lasts_s = read.integer("expiresIn", least=1, most=LONGEST_S, needed=True)
    given = read.raw("transform")
    if given is not None and not isinstance(given, dict):
        read.faults.append("body/transform must be object")
    read.check()
    transform = _transform(store, given)
    row = await readable_object(store, asked, asked.bucket, asked.key)
    url = f"{asked.bucket}/{row.name}"
    text = token_text(transform)
    told = "origin" if transform.format == "origin" else ""
    token = store.signer.download(url, lasts_s, transformations=text, format=told)
    area = "object/sign" if transform.is_empty else "render/image/sign"
    return answer({"signedURL": _address(area, url, token)})


async def many(store: Store, asked: Asked) -> Response:
    """`POST object/sign/{bucket}`: an entry for each path; those that the caller cannot see say so."""
    read = asked.read()
    lasts_s = read.integer("expiresIn", least=1, most=LONGEST_S, needed=True)
    paths = read.texts("paths", least=1, most=_MOST_PATHS, needed=True)
    read.check()
    names = [possible_key(path) for path in paths]
    listed = msgspec.json.encode([name for name in names if name is not None])
    rows = await store.run(asked.as_caller(), statement(SQL["visible_names"], asked.bucket, listed))
    visible = set(msgspec.json.decode(rows[0][0][0] or b"[]", type=list[str]))
    return answer(
        [
            _entry(store, asked.bucket, path, name if name in visible else None, lasts_s)
            for path, name in zip(paths, names, strict=True)
        ]
    )


async def upload(store: Store, asked: Asked) -> Response:
    """`POST object/upload/sign/{bucket}/{path}`: whoever has the URL writes this one object, on behalf of the caller."""
    read = asked.read()
    usual = int(store.settings.upload_signed_url_expiration_time)
    lasts_s = read.integer("expiresIn", usual, least=1, most=LONGEST_S)
    read.check()
    key = parse_key(asked.key, is_unicode=store.settings.unicode_keys)
    wanted = Upload(
        asked.bucket,
        key,
        asked.caller,
        asked.caller.subject,
        asked.is_true("x-upsert"),
        about_of(asked),  # of the upload to come; its length is not known
    )
    await rules_of(store, asked, asked.bucket)
    await store.probe(asked.as_caller(), probe_of(wanted, key))
    url = f"{asked.bucket}/{key}"
    token = store.signer.upload(url, lasts_s, upsert=wanted.is_upsert, owner=asked.caller.subject)
    return answer({"url": _address("object/upload/sign", url, token), "token": token})


def _entry(store: Store, bucket: str, path: str, name: str | None, lasts_s: int) -> dict[str, str | None]:
    if name is None:
        return {"error": _HIDDEN, "path": path, "signedURL": None}
    url = f"{bucket}/{name}"
    return {
        "error": None,
        "path": path,
        "signedURL": _address("object/sign", url, store.signer.download(url, lasts_s)),
    }


def _address(area: str, url: str, token: str) -> str:
    """Give an address below the service; clients escape it themselves, all but what ends a path."""
    escaped = url.replace("?", "%3F").replace("#", "%23")
    return f"/{area}/{escaped}?token={token}"


def _transform(store: Store, given: object) -> Transform:
    if not isinstance(given, dict):
        return Transform()
    try:
        return transform_of_body(given, store.sides)
    except BadTransform as error:
        raise invalid_request(str(error)) from None
