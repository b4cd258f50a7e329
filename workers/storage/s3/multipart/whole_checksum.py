"""The checksum of a whole multipart upload: what CreateMultipartUpload declares, and its value at the completion. Pure.

    x-amz-checksum-algorithm, -type of the creation -> metadata of the upload's row
    checksums of the parts, verified as they came   -> rows of the parts
    both, and what the completion declares          -> the checksum that the object's row keeps

Source: CreateMultipartUpload and CompleteMultipartUpload of the Amazon S3 API reference; docs/reference/storage.md, 10.2.
"""

from collections.abc import Mapping, Sequence

from broker.blobs.checksums import (
    CHECKSUM_KINDS,
    CHECKSUM_PREFIX,
    CRC_KINDS,
    composite_checksum,
    full_checksum,
    is_digest,
)
from workers.storage.s3.protocol.errors import S3Error
from workers.storage.s3.protocol.request import S3Request
from workers.storage.s3.protocol.xml import XmlNode

COMPOSITE, FULL_OBJECT = "COMPOSITE", "FULL_OBJECT"
_ALGORITHM, _TYPE = f"{CHECKSUM_PREFIX}algorithm", f"{CHECKSUM_PREFIX}type"


def declared_members(request: S3Request) -> dict[str, str]:
    """Return what a creation declares, as members of the upload's metadata. Raises: S3Error (InvalidRequest)."""
    kind = (request.header(_ALGORITHM) or "").strip().lower()
    whole = (request.header(_TYPE) or "").strip().upper()
    if not kind:
        if whole:
            raise _invalid(f"The {_TYPE} header can only be used with the {_ALGORITHM} header.")
        return {}
    if kind not in CHECKSUM_KINDS:
        raise _invalid(
            "Checksum algorithm provided is unsupported. Please try again with any of the valid types."
        )
    whole = whole or (FULL_OBJECT if kind == "crc64nvme" else COMPOSITE)
    is_possible = (whole == COMPOSITE and kind != "crc64nvme") or (whole == FULL_OBJECT and kind in CRC_KINDS)
    if not is_possible:
        raise _invalid(f"The {whole} checksum type cannot be used with the {kind} checksum algorithm.")
    return {"checksumAlgorithm": kind, "checksumType": whole}


def declared_headers(members: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the headers that repeat what the creation declared."""
    if "checksumAlgorithm" not in members:
        return []
    return [(_ALGORITHM, members["checksumAlgorithm"].upper()), (_TYPE, members["checksumType"])]


def check_kind(members: Mapping[str, str], checksums: Mapping[str, str]) -> None:
    """Raises: S3Error if a part has a checksum of another algorithm than the upload declared."""
    kind = members.get("checksumAlgorithm", "")
    others = [name.removeprefix(CHECKSUM_PREFIX) for name in checksums if name != CHECKSUM_PREFIX + kind]
    if kind and others:
        raise _invalid(
            f"Checksum Type mismatch occurred, expected checksum Type: {kind}, actual checksum Type: {others[0]}"
        )


def listed_checksums(node: XmlNode) -> dict[str, str]:
    """Return the checksums that a `Part` of a completion lists: names of headers to base64."""
    values = {kind: node.value(f"Checksum{kind.upper()}") for kind in CHECKSUM_KINDS}
    return {CHECKSUM_PREFIX + kind: value.strip() for kind, value in values.items() if value}


def whole_checksums(
    request: S3Request, members: Mapping[str, str], parts: Sequence[tuple[Mapping[str, str], int]]
) -> dict[str, str]:
    """Return the checksum of the object, name of its header to its value; empty if the parts do not declare theirs.

    `parts` are checksums and sizes. Raises: S3Error (InvalidRequest, BadDigest) if the completion declares another one.
    """
    declared = {
        name.removeprefix(CHECKSUM_PREFIX): value.strip()
        for name, value in request.headers.items()
        if name.startswith(CHECKSUM_PREFIX) and name not in (_TYPE, _ALGORITHM)
    }
    kind = members.get("checksumAlgorithm") or next(iter(declared), "") or _common_kind(parts)
    whole = members.get("checksumType") or (FULL_OBJECT if kind == "crc64nvme" else COMPOSITE)
    text = (request.header(_TYPE) or whole).strip().upper()
    if "checksumType" in members and text != whole:
        raise _invalid(f"The upload was created with the checksum type {whole}, not {text}")
    whole = text
    if set(declared) - {kind} or (whole == FULL_OBJECT and kind not in CRC_KINDS and kind):
        raise _invalid(f"The upload was created with the checksum algorithm {kind} and the type {whole}")
    sums = [checksums.get(CHECKSUM_PREFIX + kind) for checksums, _ in parts]
    declared_sums = [value for value in sums if value is not None]
    if not kind or len(declared_sums) < len(sums):
        if declared:
            raise _invalid(
                f"The upload cannot be completed with a {kind} checksum: not every part declared one"
            )
        return {}
    if whole == COMPOSITE:
        value = composite_checksum(kind, declared_sums)
    else:
        value = full_checksum(kind, list(zip(declared_sums, [size for _, size in parts], strict=True)))
    _check_declared(declared.get(kind), value, kind)
    return {CHECKSUM_PREFIX + kind: value}


def _check_declared(declared: str | None, value: str, kind: str) -> None:
    """Compare a declared checksum with the value; the number of parts at its end may be missing. Raises: S3Error."""
    if declared is None:
        return
    if not is_digest(declared.partition("-")[0], kind):
        raise _invalid(f"Value for {CHECKSUM_PREFIX}{kind} header is invalid.")
    if declared not in (value, value.partition("-")[0]):
        raise S3Error("BadDigest", f"The {kind} you specified did not match the calculated checksum.")


def _common_kind(parts: Sequence[tuple[Mapping[str, str], int]]) -> str:
    """Return the algorithm that every part has; empty if they have none in common."""
    shared = set.intersection(*(set(checksums) for checksums, _ in parts)) if parts else set()
    return min(shared, default="").removeprefix(CHECKSUM_PREFIX)


def _invalid(message: str) -> S3Error:
    return S3Error("InvalidRequest", message)
