"""Multipart uploads that were begun in an S3 store and will never be finished: their writer died. They are found and aborted.

Their parts take room and stand in no listing of blobs. The library that writes blobs can neither list nor abort uploads of
another process, so these four requests are signed here (AWS Signature Version 4) and sent by the standard library:

    GET    /?uploads                      which are begun, and when      (a page of 1,000 at a time)
    GET    /<key>?uploadId=...            when the last part came
    DELETE /<key>?uploadId=...            abort

Only keys that are names of our blobs below our prefix are touched. Keys that the machine supplies (a role of the instance) are not
known here; then nothing is done, and the bucket's life-cycle rule is what removes such parts.
Source: Amazon S3 API reference (ListMultipartUploads, ListParts, AbortMultipartUpload); "Signature Version 4 signing process".
"""

import hashlib
import hmac
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from urllib.parse import quote, urlsplit

from broker.blobs import blob_names
from schemas.settings.storage import S3, Storage

_TIMEOUT_S = 30.0
_MOST_BYTES = 8 * 1024 * 1024
_MOST_PAGES = 50
_EMPTY = hashlib.sha256(b"").hexdigest()
_UPLOAD = re.compile(r"<Upload>(.*?)</Upload>", re.DOTALL)
_MODIFIED = re.compile(r"<LastModified>([^<]+)</LastModified>")


@dataclass(frozen=True, slots=True)
class BegunUpload:
    """An upload that is neither complete nor aborted."""

    key: str
    id: str
    began: datetime


class BegunUploads:
    """The multipart uploads of a bucket. Its calls wait for the network: run them in a thread."""

    def __init__(self, settings: S3, access_key_id: str, secret_access_key: str) -> None:
        self._settings = settings
        self._access_key_id, self._secret = access_key_id, secret_access_key
        self._base = urlsplit(bucket_address(settings))

    def abort(self, older_than: datetime) -> int:
        """Abort the uploads of ours that had no part since a time; return how many. Raises: OSError."""
        count = 0
        for upload in list(self._begun()):
            if upload.began < older_than and self._last_part(upload) < older_than:
                self._ask("DELETE", upload.key, {"uploadId": upload.id})
                count += 1
        return count

    def _begun(self) -> Iterator[BegunUpload]:
        prefix = f"{self._settings.prefix}/" if self._settings.prefix else ""
        query = {"uploads": ""}
        for _ in range(_MOST_PAGES):
            text = self._ask("GET", "", query)
            for listed in _UPLOAD.findall(text):
                upload = BegunUpload(
                    _value(listed, "Key"), _value(listed, "UploadId"), _time(listed, "Initiated")
                )
                if upload.key.startswith(prefix) and blob_names.found(upload.key.removeprefix(prefix)):
                    yield upload
            if _value(text, "IsTruncated") != "true":
                return
            query = {
                "uploads": "",
                "key-marker": _value(text, "NextKeyMarker"),
                "upload-id-marker": _value(text, "NextUploadIdMarker"),
            }

    def _last_part(self, upload: BegunUpload) -> datetime:
        """Return when the last part came; without one, when the upload began."""
        latest, query = upload.began, {"uploadId": upload.id}
        for _ in range(_MOST_PAGES):
            text = self._ask("GET", upload.key, query)
            latest = max([latest, *(_read_time(found) for found in _MODIFIED.findall(text))])
            if _value(text, "IsTruncated") != "true":
                break
            query = {"uploadId": upload.id, "part-number-marker": _value(text, "NextPartNumberMarker")}
        return latest

    def _ask(self, method: str, key: str, query: Mapping[str, str]) -> str:
        """Send a signed request and return the text of the answer; an upload that is gone is none. Raises: OSError."""
        path = f"{self._base.path}/{quote(key, safe='/-_.~')}" if key else self._base.path or "/"
        asked = "&".join(
            f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in sorted(query.items())
        )
        headers = self._signed(method, path, asked, datetime.now(UTC))
        url = f"{self._base.scheme}://{self._base.netloc}{path}?{asked}"
        request = urllib.request.Request(url, headers=headers, method=method)  # noqa: S310 - the settings' own address
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - as above
                return str(answer.read(_MOST_BYTES).decode(errors="replace"))
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 404:
                    return ""
                raise OSError(f"status code: {error.code}") from None

    def _signed(self, method: str, path: str, query: str, now: datetime) -> dict[str, str]:
        """Return the headers of a signed request without a body (pure)."""
        stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
        headers = {"host": self._base.netloc, "x-amz-content-sha256": _EMPTY, "x-amz-date": stamp}
        names = ";".join(headers)
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        canonical = f"{method}\n{path}\n{query}\n{lines}\n{names}\n{_EMPTY}"
        scope = f"{day}/{self._settings.region}/s3/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = f"AWS4{self._secret}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.new(key, text.encode(), "sha256").hexdigest()
        credential = f"Credential={self._access_key_id}/{scope}"
        authorization = f"AWS4-HMAC-SHA256 {credential}, SignedHeaders={names}, Signature={signature}"
        return {**headers, "authorization": authorization}


def begun_uploads(settings: Storage) -> BegunUploads | None:
    """Return who looks for begun uploads; None where the store is not S3, or its keys are not in the settings."""
    s3 = settings.s3
    if settings.backend != "s3" or not (s3.access_key_id and s3.secret_access_key):
        return None
    return BegunUploads(s3, s3.access_key_id.reveal(), s3.secret_access_key.reveal())


def bucket_address(settings: S3) -> str:
    """Return the URL of the bucket (pure)."""
    scheme, _, host = (
        settings.endpoint.rstrip("/") or f"https://s3.{settings.region}.amazonaws.com"
    ).partition("://")
    if settings.force_path_style:
        return f"{scheme}://{host}/{quote(settings.bucket)}"
    return f"{scheme}://{settings.bucket}.{host}"


def _value(text: str, name: str) -> str:
    found = re.search(f"<{name}>([^<]*)</{name}>", text)
    return unescape(found[1]) if found else ""


def _time(text: str, name: str) -> datetime:
    return _read_time(_value(text, name))


def _read_time(text: str) -> datetime:
    """Read a time of the store; one that cannot be read counts as now, so that nothing is aborted for it."""
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        return datetime.now(UTC)
    return read if read.tzinfo else read.replace(tzinfo=UTC)
