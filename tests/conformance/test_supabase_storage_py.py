"""The official Python client on the storage, in both of its forms: buckets, uploads, reading, lists, changes.

What the JavaScript client's tests say of the service in more detail is not said again.
"""

import hashlib
from pathlib import Path
from uuid import uuid4

import pytest

from tests.conformance.auth_callers import done
from tests.conformance.storage_callers import DUPLICATE, NO_BUCKET, NOT_FOUND, Files, names, refusal

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.process_group("clients")]

WORDS = b"many words"


# --- Buckets -----------------------------------------------------------------------------------------------------


async def test_a_bucket_is_made_looked_at_changed_emptied_and_deleted(files: Files) -> None:
    storage, name = files.storage, f"b-{uuid4()}"
    options = {"public": True, "file_size_limit": 1000, "allowed_mime_types": ["text/*"]}

    made = await done(storage.create_bucket(name, options=options))
    shown = await done(storage.get_bucket(name))
    changed = await done(storage.update_bucket(name, {"public": False}))
    after = await done(storage.get_bucket(name))
    await done(storage.from_(name).upload("a/b.txt", WORDS))
    full = await refusal(storage.delete_bucket, name)
    emptied = await done(storage.empty_bucket(name))
    deleted = await done(storage.delete_bucket(name))

    assert made == {"name": name}
    assert (shown.id, shown.name, shown.public, shown.owner) == (name, name, True, "")
    assert (shown.file_size_limit, shown.allowed_mime_types) == (1000, ["text/*"])
    assert changed == {"message": "Successfully updated"}
    assert (after.public, after.file_size_limit, after.allowed_mime_types) == (False, 1000, ["text/*"])
    assert full == ("409", "ResourceNotEmpty", "The bucket you tried to delete is not empty")
    assert emptied["message"].startswith("Empty bucket has been queued")
    assert deleted == {"message": "Successfully deleted"}
    assert await refusal(storage.get_bucket, name) == NO_BUCKET


async def test_buckets_are_listed(files: Files) -> None:
    one = await files.bucket()

    found = {each.id: each for each in await done(files.storage.list_buckets())}

    assert found[one.id].type == "STANDARD"
    assert found["avatars"].public
    assert await refusal(files.storage.create_bucket, one.id) == DUPLICATE


# --- Uploads and reading -----------------------------------------------------------------------------------------


async def test_uploads_of_bytes_paths_and_open_files(files: Files, tmp_path: Path) -> None:
    own = await files.bucket()
    path = tmp_path / "words.txt"
    path.write_bytes(WORDS)

    with path.open("rb") as opened:
        for name, body in {"bytes": WORDS, "path": path, "text": str(path), "file": opened}.items():
            told = await done(own.upload(f"kinds/{name}.txt", body))
            assert (told.path, told.full_path) == (f"kinds/{name}.txt", f"{own.id}/kinds/{name}.txt")

    for name in ("bytes", "path", "text", "file"):
        assert await done(own.download(f"kinds/{name}.txt")) == WORDS


async def test_what_an_upload_says_of_itself_is_kept(files: Files) -> None:
    own = await files.bucket()
    said = {
        "content-type": "text/markdown",
        "cache-control": "60",
        "metadata": {"author": "Ada", "tags": ["ä", 1]},
    }

    await done(own.upload("said ü.md", WORDS, said))

    info = await done(own.info("said ü.md"))
    assert (info["content_type"], info["cache_control"]) == ("text/markdown", "max-age=60")
    assert (info["metadata"], info["size"], info["bucket_id"]) == (said["metadata"], len(WORDS), own.id)
    assert info["etag"] == f'"{hashlib.md5(WORDS).hexdigest()}"'
    [row] = await done(own.list())
    assert row["metadata"]["mimetype"] == "text/markdown"


async def test_an_object_is_replaced_only_if_that_is_asked_for(files: Files) -> None:
    own = await files.bucket()
    await done(own.upload("once.txt", b"one"))

    again = await refusal(own.upload, "once.txt", b"two")
    kept = await done(own.download("once.txt"))
    await done(own.upload("once.txt", b"three", {"upsert": "true"}))
    replaced = await done(own.download("once.txt"))
    await done(own.update("once.txt", b"four"))
    await done(own.update("new.txt", b"five"))

    assert (again, kept, replaced) == (DUPLICATE, b"one", b"three")
    assert await done(own.download("once.txt")) == b"four"
    assert await done(own.exists("new.txt"))


async def test_the_limits_of_a_bucket_hold(files: Files) -> None:
    own = await files.bucket(file_size_limit=1000, allowed_mime_types=["text/*"])

    long = [await refusal(own.upload, "long.txt", b"x" * size) for size in (1001, 5_000_000)]
    wrong = [
        await refusal(own.upload, "x.json", b"x" * size, {"content-type": "application/json"})
        for size in (2, 5_000_000)
    ]

    assert long == [("413", "Payload too large", "The object exceeded the maximum allowed size")] * 2
    assert wrong == [("415", "invalid_mime_type", "mime type application/json is not supported")] * 2
    assert await done(own.list()) == []


async def test_whether_an_object_is_there(files: Files) -> None:
    own = await files.bucket()
    await done(own.upload("a b/ç.txt", WORDS))

    assert await done(own.exists("a b/ç.txt")) is True
    assert await done(own.exists("none.txt")) is False
    assert await refusal(own.download, "none.txt") == NOT_FOUND
    assert await refusal(own.info, "none.txt") == NOT_FOUND
    assert await refusal(files.storage.from_("no-such-bucket").exists, "a.txt") == NO_BUCKET


# --- Lists and changes -------------------------------------------------------------------------------------------


async def test_lists_of_the_first_form(files: Files) -> None:
    own = await files.bucket()
    for key in ("b.txt", "A.txt", "docs/one.txt", "docs/two.txt", "docs/old/zero.txt"):
        await done(own.upload(key, WORDS))

    listed = {
        "": names(await done(own.list())),
        "docs": names(await done(own.list("docs", {"sortBy": {"column": "name", "order": "desc"}}))),
        "page": names(await done(own.list("", {"limit": 1, "offset": 1}))),
        "search": names(await done(own.list("docs", {"search": "TW"}))),
        "date": names(await done(own.list("", {"sortBy": {"column": "created_at"}}))),
        "nowhere": names(await done(own.list("nowhere"))),
    }

    assert listed == {
        "": ["A.txt", "b.txt", "docs"],
        "docs": ["two.txt", "one.txt", "old"],
        "page": ["b.txt"],
        "search": ["two.txt"],
        "date": ["docs", "b.txt", "A.txt"],
        "nowhere": [],
    }


async def test_lists_of_the_second_form(files: Files) -> None:
    own = await files.bucket()
    keys = ["B.txt", "a.txt", "docs/one.txt", "docs/two.txt", "z.txt"]
    for key in keys:
        await done(own.upload(key, WORDS))

    whole = await done(own.list_v2())
    level = await done(own.list_v2({"with_delimiter": True}))
    first = await done(own.list_v2({"limit": 3, "sortBy": {"column": "name", "order": "desc"}}))
    rest = await done(
        own.list_v2({"limit": 3, "cursor": first.nextCursor, "sortBy": {"column": "name", "order": "desc"}})
    )

    assert (names(whole.objects), whole.hasNext, whole.nextCursor) == (keys, False, None)
    assert (names(level.folders), names(level.objects)) == (["docs/"], ["B.txt", "a.txt", "z.txt"])
    assert names(first.objects) + names(rest.objects) == keys[::-1]
    assert (first.hasNext, rest.hasNext) == (True, False)


async def test_objects_are_moved_copied_and_removed(files: Files) -> None:
    own = await files.bucket()
    await done(own.upload("a.txt", WORDS, {"metadata": {"a": 1}}))

    moved = await done(own.move("a.txt", "folder/b.txt"))
    copied = await done(own.copy("folder/b.txt", "c.txt"))
    over = [await refusal(call, "c.txt", "folder/b.txt") for call in (own.move, own.copy)]
    missing = [await refusal(call, "a.txt", "d.txt") for call in (own.move, own.copy)]
    removed = await done(own.remove(["folder/b.txt", "never/there.txt"]))

    assert moved == {"message": "Successfully moved"}
    assert (copied["Key"], copied["user_metadata"]) == (f"{own.id}/c.txt", {"a": 1})
    assert (over, missing) == ([DUPLICATE] * 2, [NOT_FOUND] * 2)
    assert [(row["name"], row["bucket_id"]) for row in removed] == [("folder/b.txt", own.id)]
    assert names(await done(own.list())) == ["c.txt"]
    assert await done(own.download("c.txt")) == WORDS
