"""Find and abort multipart uploads in an S3 store that will never be finished, because their writer died.

Their parts use space and do not appear in a listing of blobs. The library that writes blobs can neither list nor
abort uploads of another process. So these three requests are signed here (AWS Signature Version 4) and sent by the
standard library:

    GET    /?uploads                      list unfinished uploads        (pages of 1,000)
    GET    /<key>?uploadId=...            list the parts, with the time of the last
    DELETE /<key>?uploadId=...            abort the upload

Only object keys that are paths of blobs below the configured prefix are changed. If the access keys come from the
machine (a role of the instance), this module does not have them and does nothing; a life-cycle rule of the bucket
must remove such parts. Source: Amazon S3 API reference (ListMultipartUploads, ListParts, AbortMultipartUpload);
"Signature Version 4 signing process".
"""

import hashlib
import hmac
import http.client
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
class UnfinishedUpload:
    """An upload that is neither complete nor aborted."""

    key: str
    id: str
    started: datetime


class UnfinishedUploads:
    """The unfinished multipart uploads of a bucket. The methods wait for the network: run them in a thread."""

    def __init__(self, settings: S3, access_key_id: str, secret_access_key: str) -> None:
        self._settings = settings
        self._access_key_id, self._secret = access_key_id, secret_access_key
        self._base = urlsplit(bucket_address(settings))

    def abort(self, older_than: datetime) -> int:
        """Abort the platform's uploads that received no part since a time; return their number. Raises: OSError."""
        count = 0
        for upload in list(self._unfinished()):
            if upload.started < older_than and self._last_part(upload) < older_than:
                self._request("DELETE", upload.key, {"uploadId": upload.id})
                count += 1
        return count

    def _unfinished(self) -> Iterator[UnfinishedUpload]:
        prefix = f"{self._settings.prefix}/" if self._settings.prefix else ""
        query = {"uploads": ""}
        for _ in range(_MOST_PAGES):
            text = self._request("GET", "", query)
            for listed in _UPLOAD.findall(text):
                upload = UnfinishedUpload(
                    _value(listed, "Key"), _value(listed, "UploadId"), _time(listed, "Initiated")
                )
                if upload.key.startswith(prefix) and blob_names.parse_path(upload.key.removeprefix(prefix)):
                    yield upload
            if _value(text, "IsTruncated") != "true":
                return
            query = {
                "uploads": "",
                "key-marker": _value(text, "NextKeyMarker"),
                "upload-id-marker": _value(text, "NextUploadIdMarker"),
            }

    def _last_part(self, upload: UnfinishedUpload) -> datetime:
        """Return the time of the last part; without one, the time of the upload's start."""
        latest, query = upload.started, {"uploadId": upload.id}
        for _ in range(_MOST_PAGES):
            text = self._request("GET", upload.key, query)
            latest = max([latest, *(_parse_time(time) for time in _MODIFIED.findall(text))])
            if _value(text, "IsTruncated") != "true":
                break
            query = {"uploadId": upload.id, "part-number-marker": _value(text, "NextPartNumberMarker")}
        return latest

    def _request(self, method: str, key: str, query: Mapping[str, str]) -> str:
        """Send a signed request and return the text of the response; empty if the upload is gone. Raises: OSError."""
        path = f"{self._base.path}/{quote(key, safe='/-_.~')}" if key else self._base.path or "/"
        query_text = "&".join(
            f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in sorted(query.items())
        )
        headers = self._signed(method, path, query_text, datetime.now(UTC))
        url = f"{self._base.scheme}://{self._base.netloc}{path}?{query_text}"
        request = urllib.request.Request(url, headers=headers, method=method)  # noqa: S310 - the settings' own address
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - as above
                text = str(answer.read(_MOST_BYTES).decode(errors="replace"))
                if answer.length:  # of a list of parts the last ones would be missing
                    raise OSError("the response was cut off, or is too long")
                return text
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 404:
                    return ""
                raise OSError(f"status code: {error.code}") from None
        except http.client.HTTPException as error:  # no HTTP, or a response that was cut off
            raise OSError(f"the response cannot be read: {type(error).__name__}") from None

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


def unfinished_uploads(settings: Storage) -> UnfinishedUploads | None:
    """Return the unfinished uploads of the store; None if it is not S3, or its keys are not in the settings."""
    s3 = settings.s3
    if settings.backend != "s3" or not (s3.access_key_id and s3.secret_access_key):
        return None
    return UnfinishedUploads(s3, s3.access_key_id.reveal(), s3.secret_access_key.reveal())


def bucket_address(settings: S3) -> str:
    """Return the URL of the bucket (pure)."""
    scheme, _, host = (
        settings.endpoint.rstrip("/") or f"https://s3.{settings.region}.amazonaws.com"
    ).partition("://")
    if settings.force_path_style:
        return f"{scheme}://{host}/{quote(settings.bucket)}"
    return f"{scheme}://{settings.bucket}.{host}"


def _value(text: str, name: str) -> str:
    match = re.search(f"<{name}>([^<]*)</{name}>", text)
    return unescape(match[1]) if match else ""


def _time(text: str, name: str) -> datetime:
    return _parse_time(_value(text, name))


def _parse_time(text: str) -> datetime:
    """Parse a time of the store; return the present time for an invalid one, so that its upload is not aborted."""
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        return datetime.now(UTC)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
