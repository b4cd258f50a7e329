"""Pictures made of objects, by the real images worker."""

import pytest

from tests.workers.images import samples
from tests.workers.images.from_fork import from_fork
from tests.workers.storage.storage_pool import (
    ALICE,
    ANON,
    NOBODY,
    StoragePool,
    error_of,
    refusal,
    shown,
    told,
)
from workers.storage.model.media_types import POLICY
from workers.storage.sweeps.sweep import sweep_tombstones

PNG = from_fork(lambda: samples.written(samples.quarters(80, 40), "png"))


async def bucket_with_picture(storage_pool: StoragePool, **changes: object) -> str:
    bucket = await storage_pool.bucket(**changes)
    await storage_pool.uploaded(f"/object/{bucket}/a.png", PNG, content_type="image/png", cache_control="60")
    return bucket


async def size_of(storage_pool: StoragePool, response: object) -> tuple[int, int]:
    claim = response.claim  # type: ignore[attr-defined]  # a Response
    assert claim is not None, response
    image = samples.opened(await storage_pool.bytes_of(claim.blob))
    return image.width, image.height


async def test_public_picture_is_made_and_kept_beside_its_source(storage_pool: StoragePool) -> None:
    bucket = await bucket_with_picture(storage_pool, public=True)
    path = f"/render/image/public/{bucket}/a.png?width=20&height=20&quality=60&resize=contain&format=png"

    response = await storage_pool.send("GET", path, None, NOBODY, is_known=False)
    again = await storage_pool.send("GET", path, None, NOBODY, is_known=False)

    assert response.status == 200
    assert response.claim == again.claim
    assert await size_of(storage_pool, response) == (20, 10)
    assert response.claim is not None
    assert response.claim.blob.version == await storage_pool.version(bucket, "a.png")
    assert response.claim.blob.transform
    assert response.claim.has_ranges is False
    assert dict(response.headers) == {
        "content-type": "image/png",
        "x-content-type-options": "nosniff",
        "content-security-policy": POLICY,
        "x-robots-tag": "none",
        "cache-control": "max-age=60",
        "x-transformations": "height:20,width:20,resizing_type:fit,quality:60,format:png",
    }


async def test_format_is_negotiated_and_told(storage_pool: StoragePool) -> None:
    bucket = await bucket_with_picture(storage_pool, public=True)
    path = f"/render/image/public/{bucket}/a.png?width=20"

    plain = await storage_pool.send("GET", path)
    modern = await storage_pool.send("GET", path, accept="image/avif,image/webp,*/*")

    assert (told(plain, "content-type"), told(plain, "vary")) == ("image/png", "Accept")
    assert (told(modern, "content-type"), told(modern, "vary")) == ("image/webp", "Accept")
    assert plain.claim is not None
    assert modern.claim is not None
    assert plain.claim.etag != modern.claim.etag
    assert await size_of(storage_pool, plain) == (20, 10)


async def test_render_keeps_to_the_policies(storage_pool: StoragePool) -> None:
    bucket = await bucket_with_picture(storage_pool)
    await storage_pool.policy(bucket, "select")
    path = f"/render/image/authenticated/{bucket}/a.png?width=20"

    assert (await storage_pool.send("GET", path, None, ALICE)).claim is not None
    assert refusal(await storage_pool.send("GET", path, None, ANON)) == (404, "NoSuchKey", "Object not found")
    public = await storage_pool.send(
        "GET", f"/render/image/public/{bucket}/a.png?width=20", None, NOBODY, is_known=False
    )
    assert refusal(public)[:2] == (404, "NoSuchBucket")


async def test_transform_of_a_signed_url_stands_in_the_token(storage_pool: StoragePool) -> None:
    bucket = await bucket_with_picture(storage_pool)
    body = {"expiresIn": 60, "transform": {"width": 10, "height": 10, "resize": "contain", "format": "png"}}
    url = (await storage_pool.ok("POST", f"/object/sign/{bucket}/a.png", body))["signedURL"]

    assert url.startswith(f"/render/image/sign/{bucket}/a.png?token=")
    response = await storage_pool.send("GET", f"{url}&width=70&format=webp", None, NOBODY, is_known=False)

    assert await size_of(storage_pool, response) == (10, 5)
    assert told(response, "content-type") == "image/png"
    assert told(response, "vary") is None
    assert told(response, "expires")
    assert told(response, "cache-control") is None


async def test_format_origin_of_a_signed_url_is_honoured(storage_pool: StoragePool) -> None:
    bucket = await bucket_with_picture(storage_pool)
    body = {"expiresIn": 60, "transform": {"width": 10, "format": "origin"}}
    url = (await storage_pool.ok("POST", f"/object/sign/{bucket}/a.png", body))["signedURL"]

    response = await storage_pool.send("GET", url, None, NOBODY, is_known=False, accept="image/webp")

    assert told(response, "content-type") == "image/png"


async def test_bad_transforms_are_told_together(storage_pool: StoragePool) -> None:
    bucket = await bucket_with_picture(storage_pool, public=True)

    found = await storage_pool.refused("GET", f"/render/image/public/{bucket}/a.png?width=-1&quality=101")

    assert found == (
        400,
        "InvalidRequest",
        "querystring/width must be >= 0, querystring/quality must be <= 100",
    )


async def test_what_is_no_picture_is_refused_in_the_shape_of_the_area(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket(public=True)
    await storage_pool.uploaded(f"/object/{bucket}/a.png", b"<html>", content_type="image/png")

    response = await storage_pool.send("GET", f"/render/image/public/{bucket}/a.png?width=10")

    assert (
        error_of(response)
        == "400 400 InvalidRequest: The source image is invalid or unsupported for rendering (InvalidRequest)"
    )


async def test_pictures_are_off_where_the_settings_say_so(storage_pool: StoragePool) -> None:
    bucket = await bucket_with_picture(storage_pool, public=True)
    images = storage_pool.store.settings.image_transformation
    off = storage_pool.having(image_transformation=type(images)(enabled=False))

    found = await off.refused("GET", f"/render/image/public/{bucket}/a.png?width=10")

    assert found[:2] == (409, "FeatureNotEnabled")


async def test_pictures_go_with_their_object(storage_pool: StoragePool) -> None:
    bucket = await bucket_with_picture(storage_pool, public=True)
    response = await storage_pool.send("GET", f"/render/image/public/{bucket}/a.png?width=10&format=png")
    assert response.claim is not None

    await storage_pool.ok("DELETE", f"/object/{bucket}/a.png")
    while await sweep_tombstones(storage_pool.store.database, storage_pool.blobs, 0):
        pass

    with pytest.raises(Exception, match="is not there"):
        await storage_pool.bytes_of(response.claim.blob)


@pytest.mark.parametrize("what", ["", "/{bucket}", "/{bucket}/a.png", "/{bucket}/a.png?transformations=true"])
async def test_purge_drops_pictures(storage_pool: StoragePool, what: str) -> None:
    bucket = await bucket_with_picture(storage_pool, public=True)
    path = f"/render/image/public/{bucket}/a.png?width=10&format=png"
    response = await storage_pool.send("GET", path)
    assert response.claim is not None

    done = await storage_pool.ok("DELETE", f"/cdn{what.format(bucket=bucket)}")

    assert done == {"message": "success", "statusCode": "200"}
    with pytest.raises(Exception, match="is not there"):
        await storage_pool.bytes_of(response.claim.blob)
    again = await storage_pool.send("GET", path)
    assert await size_of(storage_pool, again) == (10, 5)


async def test_purge_is_for_the_service_role_and_asks_for_nothing_to_be_there(
    storage_pool: StoragePool,
) -> None:
    denied = await storage_pool.send("DELETE", "/cdn/nowhere/a", None, ALICE)

    assert denied.status == 403
    assert shown(denied)["message"] == "Access denied: Invalid role"
    assert await storage_pool.ok("DELETE", "/cdn/nowhere/a") == {"message": "success", "statusCode": "200"}
    assert await storage_pool.ok("DELETE", "/cdn/nowhere") == {"message": "success", "statusCode": "200"}


async def test_slightly_broken_images_are_rendered(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    whole = PNG
    at = whole.index(b"IEND") - 8  # the checksum of the pixels
    await storage_pool.uploaded(
        f"/object/{bucket}/crc.png", whole[:at] + bytes(4) + whole[at + 4 :], content_type="image/png"
    )
    await storage_pool.uploaded(f"/object/{bucket}/open.svg", b"<svg><g>", content_type="image/svg+xml")

    picture = await storage_pool.got(f"/render/image/authenticated/{bucket}/crc.png?width=20")
    drawing = await storage_pool.send("GET", f"/render/image/authenticated/{bucket}/open.svg?width=20")
    head = await storage_pool.send("HEAD", f"/render/image/authenticated/{bucket}/crc.png?width=20")

    assert samples.opened(picture).width == 20
    assert (drawing.status, told(drawing, "content-type")) == (200, "image/svg+xml")
    assert drawing.claim is not None
    assert await storage_pool.bytes_of(drawing.claim.blob) == b"<svg><g>"
    assert head.claim is not None
    etag = head.claim.etag
    fresh = [
        (
            await storage_pool.send(
                "GET", f"/render/image/authenticated/{bucket}/crc.png?width=20", if_match=tag
            )
        ).status
        for tag in (etag, '"nope"')
    ]
    assert fresh == [200, 412]


async def test_rendition_has_no_content_headers_of_its_source(storage_pool: StoragePool) -> None:
    bucket = await storage_pool.bucket()
    await storage_pool.uploaded(
        f"/object/{bucket}/a.png", PNG, content_type="image/png", content_encoding="br"
    )

    answer = await storage_pool.send("GET", f"/render/image/authenticated/{bucket}/a.png?width=20")

    assert (answer.status, told(answer, "content-encoding")) == (200, None)
