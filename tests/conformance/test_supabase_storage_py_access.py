"""The official Python client on the storage, in both of its forms: addresses, pictures, policies."""

from typing import Any

import pytest
from storage3.types import CreateSignedUploadUrlOptions

from tests.conformance.auth_callers import claims_of, done
from tests.conformance.storage_callers import DUPLICATE, FORBIDDEN, NOT_FOUND, Files, names, refusal
from tests.workers.images.samples import opened, quarters, written

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.process_group("clients")]

WORDS = b"many words"
HIDDEN = "Either the object does not exist or you do not have access to it"
PNG = {"content-type": "image/png"}


def size_of(picture: bytes) -> tuple[int, int]:
    """Give width and height of a picture."""
    image: Any = opened(picture)
    return image.width, image.height


# --- Addresses ---------------------------------------------------------------------------------------------------


async def test_a_public_address(files: Files) -> None:
    own = await files.bucket(public=True)
    await done(own.upload("a b/ç.txt", WORDS))
    url = await done(own.get_public_url("a b/ç.txt"))
    named = await done(own.get_public_url("a b/ç.txt", {"download": "ü.txt"}))
    plain = await done(own.get_public_url("a b/ç.txt", {"download": True}))

    read, kept, saved = await files.get(url), await files.get(named), await files.get(plain)

    assert (read.content, "content-disposition" in read.headers) == (WORDS, False)
    assert (
        kept.headers["content-disposition"] == "attachment; filename=%C3%BC.txt; filename*=UTF-8''%C3%BC.txt"
    )
    assert saved.headers["content-disposition"] == "attachment;"
    assert (await files.get(url, range="bytes=5-")).content == b"words"


async def test_signed_addresses(files: Files) -> None:
    own = await files.bucket()
    await done(own.upload("a b/ç.txt", WORDS))
    await done(own.upload("other.txt", b"others"))

    one = await done(own.create_signed_url("a b/ç.txt", 60, {"download": "x.txt"}))
    many = await done(own.create_signed_urls(["other.txt", "none.txt"], 60))

    read = await files.get(one["signedURL"])
    assert (read.content, "x.txt" in read.headers["content-disposition"]) == (WORDS, True)
    assert (await files.get(many[0]["signedUrl"])).content == b"others"
    assert (many[1]["error"], many[1]["path"], many[1]["signedURL"]) == (HIDDEN, "none.txt", None)
    assert await refusal(own.create_signed_url, "none.txt", 60) == NOT_FOUND
    wrong = await files.get(one["signedURL"].replace("a%20b/%C3%A7.txt", "other.txt"))
    assert (wrong.status_code, wrong.json()["code"]) == (400, "InvalidSignature")


async def test_signed_uploads(files: Files) -> None:
    own = await files.bucket()
    theirs = (await files.anonymous()).from_(own.id)

    once = await done(own.create_signed_upload_url("up/once.txt"))
    told = await done(theirs.upload_to_signed_url(once["path"], once["token"], WORDS, {"metadata": {"a": 1}}))
    again = await refusal(theirs.upload_to_signed_url, once["path"], once["token"], b"x")
    taken = await refusal(own.create_signed_upload_url, "up/once.txt")
    often = await done(
        own.create_signed_upload_url("up/once.txt", CreateSignedUploadUrlOptions(upsert="true"))
    )
    for body in (b"two", b"three"):
        await done(theirs.upload_to_signed_url("/up/once.txt", often["token"], body))

    assert (told.path, told.full_path) == ("up/once.txt", f"{own.id}/up/once.txt")
    assert claims_of(once["token"])["url"] == f"{own.id}/up/once.txt"
    assert (again, taken) == (DUPLICATE, DUPLICATE)
    assert await done(own.download("up/once.txt")) == b"three"


# --- Pictures ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("transform", "size"),
    [
        ({"width": 40, "height": 40}, (40, 40)),
        ({"width": 40, "height": 40, "resize": "contain"}, (40, 20)),
        ({"width": 40, "height": 40, "resize": "fill"}, (40, 40)),
        ({"width": 40, "format": "origin", "quality": 50}, (40, 20)),
        ({"height": 10, "format": "avif"}, (20, 10)),
    ],
)
async def test_pictures_by_every_address(
    files: Files, transform: dict[str, object], size: tuple[int, int]
) -> None:
    own = await files.bucket(public=True)
    await done(own.upload("wide.png", written(quarters(80, 40), "png"), PNG))

    signed = await done(own.create_signed_url("wide.png", 60, {"transform": transform}))
    public = await done(own.get_public_url("wide.png", {"transform": transform}))

    pictures = [
        await done(own.download("wide.png", {"transform": transform})),
        (await files.get(signed["signedURL"])).content,
        (await files.get(public)).content,
    ]
    assert [size_of(each) for each in pictures] == [size] * 3


# --- Policies ----------------------------------------------------------------------------------------------------


async def test_each_has_a_folder_and_only_that(files: Files) -> None:
    (ada, ada_id), (bob, bob_id) = await files.member(), await files.member()
    mine, key = ada.from_("papers"), f"{ada_id}/diary.txt"
    await done(mine.upload(key, WORDS))

    refused = [await refusal(mine.upload, name, b"x") for name in ("root.txt", f"{bob_id}/x.txt")]
    for other in (bob.from_("papers"), (await files.anonymous()).from_("papers")):
        refused += [
            await refusal(other.upload, f"{ada_id}/x.txt", b"x"),
            await refusal(other.update, key, b"x"),
            await refusal(other.create_signed_upload_url, f"{ada_id}/x.txt"),
        ]
        hidden = [
            await refusal(other.download, key),
            await refusal(other.info, key),
            await refusal(other.move, key, f"{bob_id}/x.txt"),
            await refusal(other.copy, key, f"{bob_id}/x.txt"),
            await refusal(other.create_signed_url, key, 60),
        ]
        assert hidden == [NOT_FOUND] * 5
        assert await done(other.remove([key])) == []
        assert await done(other.list(ada_id)) == []

    assert refused == [FORBIDDEN] * len(refused)
    assert await done(mine.download(key)) == WORDS
    assert names(await done(mine.remove([key]))) == [key]


async def test_a_server_does_what_it_likes(files: Files) -> None:
    storage, id = await files.member()

    await done(files.storage.from_("papers").upload(f"{id}/gift.txt", WORDS))

    assert await done(storage.from_("papers").download(f"{id}/gift.txt")) == WORDS
    assert await refusal(storage.create_bucket, "mine") == FORBIDDEN
    assert await done(files.storage.from_("papers").remove([f"{id}/gift.txt"]))
