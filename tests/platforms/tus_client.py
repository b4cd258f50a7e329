"""A client of resumable uploads that says what a test wants, also what no client would."""

import asyncio
import base64
import io
from dataclasses import dataclass

from tests.platforms.storage_requests import SlowUpload, Storehouse

BODY = "application/offset+octet-stream"
VERSION = {"Tus-Resumable": "1.0.0"}


@dataclass(frozen=True, slots=True)
class TusResponse:
    """A response of the gateway."""

    status: int
    headers: dict[str, str]
    """Names in lower case."""
    text: str


@dataclass(frozen=True, slots=True)
class Tus:
    """Resumable uploads to the storage of a platform, with the key of the service where no other headers are given."""

    store: Storehouse

    async def ask(self, method: str, url: str, data: object = None, **headers: str) -> TusResponse:
        """Ask anything; `_` stands for `-` in the names of headers."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {**VERSION, **named}
        body = io.BytesIO(data) if isinstance(data, bytes) else data
        async with self.store.client.request(method, url, data=body, headers=sent) as answer:
            told = {name.lower(): value for name, value in answer.headers.items()}
            return TusResponse(answer.status, told, await answer.text())

    async def create(self, key: str, length: int | None, data: object = None, **headers: str) -> TusResponse:
        """Begin an upload. `key` has the bucket before it."""
        bucket, _, name = key.partition("/")
        size = {"Upload_Defer_Length": "1"} if length is None else {"Upload_Length": str(length)}
        kind = {} if data is None else {"Content_Type": BODY}
        words = ",".join(f"{k} {_base64(v)}" for k, v in (("bucketName", bucket), ("objectName", name)))
        url = self.store.url("upload/resumable")
        return await self.ask("POST", url, data, **{"Upload_Metadata": words, **size, **kind, **headers})

    async def begun(self, key: str, length: int | None, **headers: str) -> str:
        """Begin an upload that is taken, and give its URL."""
        heard = await self.create(key, length, **headers)
        assert heard.status == 201, heard
        return heard.headers["location"]

    async def patch(self, url: str, offset: int, data: object, **headers: str) -> TusResponse:
        """Send a piece."""
        return await self.ask(
            "PATCH", url, data, **{"Upload_Offset": str(offset), "Content_Type": BODY, **headers}
        )

    async def offset(self, url: str) -> int:
        """Give how far an upload came."""
        heard = await self.ask("HEAD", url)
        assert heard.status == 200, heard
        return int(heard.headers["upload-offset"])

    async def slow(self, url: str, offset: int, length: int) -> SlowUpload:
        """Begin a piece whose body the test sends by hand."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.store.platform.port)
        path = "/storage/v1" + url.partition("/storage/v1")[2]
        told = {
            "Host": "x", "Content-Length": str(length), "Content-Type": BODY, "Upload-Offset": str(offset),
            **VERSION, **self.store.headers,
        }  # fmt: skip
        lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
        writer.write(f"PATCH {path} HTTP/1.1\r\n{lines}\r\n".encode())
        await writer.drain()
        self.store.begun.append(SlowUpload(reader, writer))
        return self.store.begun[-1]

    def on_disk(self, url: str) -> int:
        """Give how many bytes of an upload lie on the disk."""
        files = (self.store.folder / "uploads").rglob("*")
        return sum(each.stat().st_size for each in files if version_of(url) in str(each) and each.is_file())


def version_of(url: str) -> str:
    """Give the version that an upload's URL spells."""
    id = url.rpartition("/")[2]
    return base64.urlsafe_b64decode(id + "=" * (-len(id) % 4)).decode().rpartition("/")[2]


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
