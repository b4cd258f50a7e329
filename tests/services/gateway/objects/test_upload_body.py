"""Which part of a multipart form is the file, and which are fields."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from services.gateway.objects.upload_body import open_upload_body
from services.gateway.requests.forward import BodyRejected
from services.gateway.requests.transfer_rate import TransferLimits, TransferRate

LIMITS = TransferLimits(pause_s=30, rate=0, window_s=60)


async def _answer(request: web.BaseRequest) -> web.StreamResponse:
    try:
        body = await open_upload_body(request, TransferRate(LIMITS))
        data = b"".join([piece async for piece in body.pieces])
    except BodyRejected as error:
        return web.json_response({"error": error.message}, status=error.status)
    file = data.decode() if body.has_file else None
    return web.json_response({"file": file, "type": body.content_type, "fields": body.fields})


@pytest.fixture
async def url() -> AsyncIterator[str]:
    runner = web.ServerRunner(web.Server(_answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    await runner.cleanup()


async def _posted(url: str, *parts: tuple[str, str]) -> tuple[int, dict[str, object]]:
    """Send a form whose parts are (headers, content)."""
    text = "".join(f"--x\r\n{head}\r\n\r\n{content}\r\n" for head, content in parts) + "--x--\r\n"
    headers = {"content-type": "multipart/form-data; boundary=x"}
    async with (
        aiohttp.ClientSession() as client,
        client.post(url, data=text.encode(), headers=headers) as answer,
    ):
        return answer.status, await answer.json()


def _part(name: str | None, filename: str | None = None, media_type: str | None = None) -> str:
    disposition = "Content-Disposition: form-data"
    disposition += "" if name is None else f'; name="{name}"'
    disposition += "" if filename is None else f'; filename="{filename}"'
    return disposition if media_type is None else f"{disposition}\r\nContent-Type: {media_type}"


FILE = (_part("anything", "a.txt", "text/css"), "hello")


@pytest.mark.parametrize("media_type", ["text/plain", "text/plain; charset=utf-8", "application/json"])
@pytest.mark.parametrize("is_before", [True, False])
async def test_a_text_part_with_a_content_type_is_a_field(url: str, media_type: str, is_before: bool) -> None:
    field = (_part("metadata", media_type=media_type), '{"a":1}')

    status, body = await _posted(url, *((field, FILE) if is_before else (FILE, field)))

    assert (status, body) == (200, {"file": "hello", "type": "text/css", "fields": {"metadata": '{"a":1}'}})


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (_part("a", "a.txt"), ""),
        (_part("a", "", "text/plain"), "text/plain"),
        (_part("a", media_type="application/octet-stream"), "application/octet-stream"),
        (_part("a", media_type="Application/Octet-Stream; x=y"), "Application/Octet-Stream; x=y"),
        (_part("", media_type="image/png"), "image/png"),
        (_part(None), ""),
        (_part("file"), ""),
    ],
)
async def test_a_file_has_a_name_or_is_bytes_or_has_no_name_of_a_field(
    url: str, head: str, media_type: str
) -> None:
    assert await _posted(url, (_part("cacheControl"), "60"), (head, "hello")) == (
        200,
        {"file": "hello", "type": media_type, "fields": {"cacheControl": "60"}},
    )


async def test_a_form_of_fields_has_no_file(url: str) -> None:
    status, body = await _posted(url, (_part("metadata", media_type="text/plain"), "{}"))

    assert (status, body["file"], body["fields"]) == (200, None, {"metadata": "{}"})


async def test_a_second_file_is_rejected(url: str) -> None:
    assert await _posted(url, FILE, FILE) == (400, {"error": "The form has more than one file"})


async def test_a_field_counts_each_time_it_is_sent(url: str) -> None:
    field = (_part("metadata"), "{}")

    assert (await _posted(url, *[field] * 10, FILE))[0] == 200
    assert await _posted(url, *[field] * 11, FILE) == (400, {"error": "The form has more than 10 fields"})


async def test_a_form_of_a_client_that_types_all_its_parts_is_read(url: str) -> None:
    form = aiohttp.FormData()
    form.add_field("metadata", '{"a":1}', content_type="text/plain")
    form.add_field("cacheControl", "60", content_type="text/plain; charset=utf-8")
    form.add_field("", b"hello", filename="a.txt", content_type="text/css")

    async with aiohttp.ClientSession() as client, client.post(url, data=form) as answer:
        body = await answer.json()

    assert body == {
        "file": "hello",
        "type": "text/css",
        "fields": {"metadata": '{"a":1}', "cacheControl": "60"},
    }
