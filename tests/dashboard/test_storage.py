"""Storage: buckets, folders, uploads, previews that run nothing, moves, deletions, addresses, renditions."""

import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, FilePayload, Page, expect

from tests.dashboard.administrators import Administrator, add_administrator
from tests.dashboard.window import DashboardWindow, open_window
from tests.platform import Platform

pytestmark = pytest.mark.timeout(240)
_PAYLOAD = "<img src=x onerror=alert(1)><script>alert(2)</script>"
_BAD_NAME = "'onerror=alert(1) & (2)!.txt"


def _put(
    owner: Administrator, bucket: str, name: str, content: bytes, content_type: str = "text/plain"
) -> None:
    """Upload an object by a signed address."""
    urls = owner.run("storage.sign_upload", bucket=bucket, name=name)
    answer = httpx.put(urls["url"], content=content, headers={"content-type": content_type}, timeout=60)
    assert answer.status_code == 200, answer.text


def _names(owner: Administrator, bucket: str) -> list[str]:
    """Return the names of all objects of a bucket."""
    return [row["name"] for row in owner.run("storage.search", bucket=bucket)["rows"]]


def _png(side: int) -> bytes:
    """Return a grey picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x77" * side for _ in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


async def _choose(page: Page, *files: FilePayload) -> None:
    """Choose files as with the button that uploads."""
    async with page.expect_file_chooser() as chooser:
        await page.get_by_role("button", name="Upload files").click()
    await (await chooser.value).set_files(list(files))


async def test_a_bucket_is_created_edited_emptied_and_deleted(
    window: DashboardWindow, owner: Administrator
) -> None:
    page = window.page
    await window.open("storage")

    await page.get_by_role("button", name="Create a bucket").first.click()
    dialog = page.get_by_role("dialog", name="Create a bucket")
    await dialog.get_by_label("Name").fill("reports")
    await dialog.get_by_label("Largest file in MB").fill("five")
    await expect(dialog.get_by_role("button", name="Create bucket")).to_be_disabled()
    await dialog.get_by_label("Largest file in MB").fill("5")
    await window.check_accessibility()
    await dialog.get_by_role("button", name="Create bucket").click()
    await expect(page.get_by_role("row", name="reports")).to_contain_text("private")
    await _act(page, "reports", "Edit bucket")
    await page.get_by_role("dialog").get_by_text("Public: everybody reads").click()
    await page.get_by_role("button", name="Save bucket").click()
    await expect(page.get_by_role("row", name="reports")).to_contain_text("public")
    _put(owner, "reports", "one.txt", b"one")
    await _act(page, "reports", "Empty bucket")
    await page.get_by_label("Type reports to confirm").fill("reports")
    await page.get_by_role("dialog").get_by_role("button", name="Empty bucket").click()
    await expect(page.get_by_text("reports is being emptied")).to_be_visible()
    assert _names(owner, "reports") == []
    await _act(page, "reports", "Delete bucket")
    await page.get_by_label("Type reports to confirm").fill("reports")
    await page.get_by_role("dialog").get_by_role("button", name="Delete bucket").click()

    await expect(page.get_by_text("reports is deleted")).to_be_visible()
    await expect(page.get_by_role("row", name="reports")).to_have_count(0)


async def test_files_are_uploaded_into_a_new_folder(window: DashboardWindow, owner: Administrator) -> None:
    owner.run("storage.create_bucket", bucket="uploads")
    page = window.page
    await window.open("storage/uploads")

    await page.get_by_role("button", name="New folder").click()
    await page.get_by_label("Name of the folder").fill("2026")
    await page.keyboard.press("Enter")
    await page.get_by_role("navigation", name="Place").get_by_role("link", name="2026").wait_for()
    await _choose(
        page,
        {"name": "hello.txt", "mimeType": "text/plain", "buffer": b"hello"},
        {"name": "large.bin", "mimeType": "application/octet-stream", "buffer": b"x" * (7 * 1024 * 1024)},
    )
    for name in ("hello.txt", "large.bin"):
        await expect(page.get_by_role("listitem").filter(has_text=name)).to_contain_text("uploaded")
        await expect(page.get_by_role("row", name=name)).to_be_visible()
    await window.check_accessibility()
    await window.check_narrow()
    await _choose(page, {"name": "hello.txt", "mimeType": "text/plain", "buffer": b"hello again"})
    await expect(page.get_by_text("A file of this name exists.")).to_be_visible()
    await window.screenshot("storage-uploads")
    await page.get_by_role("button", name="Replace uploads/2026/hello.txt").click()

    await expect(page.get_by_text("A file of this name exists.")).to_have_count(0)
    await expect(page.get_by_text("failed", exact=True)).to_have_count(0)
    await expect(page.get_by_role("row", name="hello.txt")).to_contain_text("11 bytes")
    assert owner.run("storage.object", bucket="uploads", name="2026/large.bin")["bytes"] == 7 * 1024 * 1024


async def test_files_are_dropped(window: DashboardWindow, owner: Administrator) -> None:
    owner.run("storage.create_bucket", bucket="dropped")
    page = window.page
    await window.open("storage/dropped")
    await page.get_by_role("heading", name="This folder is empty").wait_for()

    transfer: Any = await page.evaluate_handle(
        "(name) => { const data = new DataTransfer();"
        " data.items.add(new File(['dropped'], name, { type: 'text/plain' })); return data }",
        _BAD_NAME,
    )
    zone = page.locator(".storage-drop")
    await zone.dispatch_event("dragover", {"dataTransfer": transfer})
    await expect(page.get_by_text("Drop files or folders to upload them here")).to_be_visible()
    await zone.dispatch_event("drop", {"dataTransfer": transfer})

    await expect(page.get_by_role("row", name=_BAD_NAME)).to_be_visible()
    assert _names(owner, "dropped") == [_BAD_NAME]


async def test_previews_run_nothing(window: DashboardWindow, owner: Administrator) -> None:
    owner.run("storage.create_bucket", bucket="previews")
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40" onload="alert(1)"><script>alert(2)</script></svg>'
    _put(owner, "previews", "page.html", _PAYLOAD.encode(), "text/html")
    _put(owner, "previews", "picture.svg", svg.encode(), "image/svg+xml")
    page = window.page
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))

    await window.open("storage/previews?file=page.html")
    await expect(page.get_by_role("region", name="Text of the file")).to_have_text(_PAYLOAD)
    await window.check_accessibility()
    await window.screenshot("storage-preview")
    await window.open("storage/previews?file=picture.svg")
    await page.get_by_role("img", name="picture.svg").wait_for()
    await page.get_by_role("tab", name="Details").click()

    await expect(page.get_by_role("tabpanel")).to_contain_text("image/svg+xml")
    assert dialogs == []


async def test_a_file_is_renamed_and_the_move_undone(window: DashboardWindow, owner: Administrator) -> None:
    owner.run("storage.create_bucket", bucket="moves")
    _put(owner, "moves", "before.txt", b"text")
    page = window.page
    await window.open("storage/moves")

    await _act(page, "before.txt", "Rename or move")
    await page.get_by_label("New name, with its folders").fill("folder/after.txt")
    await page.get_by_role("button", name="Move", exact=True).click()
    await expect(page.get_by_role("row", name="folder/")).to_be_visible()
    moved = _names(owner, "moves")
    await page.get_by_role("button", name="Undo").click()

    await expect(page.get_by_role("row", name="before.txt")).to_be_visible()
    assert (moved, _names(owner, "moves")) == (["folder/after.txt"], ["before.txt"])


async def test_files_and_folders_are_deleted_by_name(window: DashboardWindow, owner: Administrator) -> None:
    owner.run("storage.create_bucket", bucket="deletions")
    for name in ("keep.txt", "old/a.txt", "old/deep/b.txt"):
        _put(owner, "deletions", name, b"text")
    page = window.page
    await window.open("storage/deletions")

    await page.get_by_role("row", name="old/").focus()
    await page.keyboard.press("Space")
    await page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog", name="Delete folder")
    await expect(dialog.get_by_text("old/deep/b.txt")).to_be_visible()
    await dialog.get_by_label("Type old to confirm").fill("old")
    await window.check_accessibility()
    await dialog.get_by_role("button", name="Delete folder").click()

    await expect(page.get_by_text("2 files are deleted")).to_be_visible()
    assert _names(owner, "deletions") == ["keep.txt"]


async def test_an_address_is_signed_and_a_rendition_made(
    window: DashboardWindow, server: Platform, owner: Administrator
) -> None:
    owner.run("storage.create_bucket", bucket="pictures")
    _put(owner, "pictures", "grey.png", _png(64), "image/png")
    page = window.page
    await window.open("storage/pictures?file=grey.png&tab=share")

    await page.get_by_role("button", name="Make a signed address").click()
    address = await page.get_by_role("region", name="Signed address").inner_text()
    await page.get_by_role("tab", name="Resized").click()
    await page.get_by_label("Width in pixels").fill("16")
    await page.get_by_role("button", name="Resize").click()
    rendition = page.get_by_role("img", name="Resized image", exact=True)
    await rendition.wait_for()
    await expect(rendition).to_have_js_property("naturalWidth", 16)
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("storage-rendition")

    assert httpx.get(address.strip(), timeout=60).content == _png(64)


async def test_buckets_are_accessible_and_fit(window: DashboardWindow, owner: Administrator) -> None:
    owner.run("storage.create_bucket", bucket="overview", public=True, file_size_limit=5 * 1024 * 1024)
    _put(owner, "overview", "folder/file.txt", b"text")
    page = window.page
    await window.open("storage")
    await page.get_by_role("row", name="overview").wait_for()
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("storage")

    await page.get_by_role("row", name="overview").focus()
    await page.keyboard.press("Enter")
    await page.get_by_role("row", name="folder/").click()
    await page.get_by_role("row", name="file.txt").wait_for()
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("storage-bucket")


async def test_a_reader_sees_files_and_no_action(
    browser: Browser, server: Platform, owner: Administrator
) -> None:
    owner.run("storage.create_bucket", bucket="read")
    _put(owner, "read", "file.txt", b"readable text")
    async with open_window(browser, server, add_administrator(server, "reader")) as window:
        page = window.page
        await window.open("storage/read?file=file.txt")
        await expect(page.get_by_role("region", name="Text of the file")).to_have_text("readable text")
        await page.keyboard.press("Escape")

        await expect(page.get_by_role("button", name="Upload files")).to_have_count(0)
        await expect(page.get_by_role("checkbox")).to_have_count(0)


async def _act(page: Page, name: str, action: str) -> None:
    """Choose an action of the menu of a row."""
    await page.get_by_role("button", name=f"Actions: {name}").click()
    await page.get_by_role("menuitem", name=action).click()


async def test_pictures_are_shown_selected_moved_and_downloaded(
    window: DashboardWindow, owner: Administrator, tmp_path: Path
) -> None:
    owner.run("storage.create_bucket", bucket="gallery")
    for name in ("a/one.png", "a/two.png", "a/deep/three.png"):
        _put(owner, "gallery", name, _png(400), "image/png")
    page = window.page
    await page.emulate_media(reduced_motion="reduce")
    await window.open("storage/gallery?folder=a%2F")
    await page.get_by_role("button", name="Show as pictures").click()
    grid = page.get_by_role("listbox", name="gallery")
    thumbnail = grid.get_by_role("img", name="Preview of a/one.png")
    await expect(thumbnail).to_have_js_property("naturalWidth", 192)
    await window.check_accessibility()
    await window.check_narrow()
    await window.screenshot("storage-gallery")

    await grid.get_by_role("option", name="a/one.png").click()
    await grid.get_by_role("option", name="deep/").click(modifiers=["Control"])
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Download as an archive").click()
    await (await download.value).save_as(tmp_path / "gallery.zip")
    with zipfile.ZipFile(tmp_path / "gallery.zip") as archive:
        assert sorted(archive.namelist()) == ["deep/three.png", "one.png"]
        assert archive.read("one.png") == _png(400)

    await page.get_by_role("button", name="Move", exact=True).click()
    await page.get_by_label("To the folder").fill("b/c")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("2 moved")).to_be_visible()
    moved = _names(owner, "gallery")
    await page.get_by_role("button", name="Undo").click()
    await expect(grid.get_by_role("option", name="a/one.png")).to_be_visible()
    assert {"b/c/one.png", "b/c/deep/three.png"} <= set(moved)
    assert {"a/one.png", "a/deep/three.png"} <= set(_names(owner, "gallery"))


async def test_a_folder_is_dropped_with_what_is_in_it(window: DashboardWindow, owner: Administrator) -> None:
    owner.run("storage.create_bucket", bucket="folders")
    page = window.page
    await window.open("storage/folders")
    await page.get_by_role("heading", name="This folder is empty").wait_for()

    # A folder cannot be put into a DataTransfer by a script, so its entries are those that the browser would give.
    await page.locator(".storage-drop").evaluate(
        """(zone) => {
          const file = (name) => ({ isFile: true, name, file: (done) => done(new File(['in it'], name)) });
          const folder = (name, inner) => ({ isFile: false, name, createReader: () => {
            const parts = [inner, []];
            return { readEntries: (done) => done(parts.shift()) };
          }});
          const entry = folder('top', [file('a.txt'), folder('deep', [file('b.txt')])]);
          const event = new Event('drop', { bubbles: true, cancelable: true });
          event.dataTransfer = { types: ['Files'], files: [], items: [{ webkitGetAsEntry: () => entry }] };
          zone.dispatchEvent(event);
        }"""
    )

    await expect(page.get_by_text("uploaded", exact=True)).to_have_count(2)
    assert sorted(_names(owner, "folders")) == ["top/a.txt", "top/deep/b.txt"]
