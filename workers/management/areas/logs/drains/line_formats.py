"""Log lines in the forms of receivers (pure).

| form | what one request has | source |
|---|---|---|
| json | a JSON object a line | |
| otlp | `resourceLogs` of JSON, one resource a process | opentelemetry.io, OTLP 1.x, "JSON Protobuf Encoding"; logs data model, "Severity Fields" |
| loki | `streams` by labels of few values, the rest in the line | grafana.com, Loki HTTP API, "Ingest logs" |
| syslog | one message a line | RFC 5424, 6; RFC 6587, 3.4.1 (octet counting) |
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from schemas.logs import LogRecord

SERVICE = "headwater"
LONGEST_DATAGRAM = 8192
"""Bytes of a syslog message by UDP; a longer one is cut. RFC 5426, 3.2."""
_SEVERITIES = {"debug": (5, "DEBUG"), "info": (9, "INFO"), "warning": (13, "WARN"), "error": (17, "ERROR")}
"""Level -> number and text of OTLP."""
_PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3}
_LOCAL0 = 16 * 8
_ENTERPRISE = "headwater@32473"
"""Id of structured data; 32473 is the number for examples (RFC 5612)."""

encode = msgspec.json.Encoder(enc_hook=str).encode
Labels = Mapping[str, str]


def json_lines(records: Sequence[LogRecord], labels: Labels) -> bytes:
    """Return a JSON object a line."""
    return b"".join(encode({**labels, **_members(record)}) + b"\n" for record in records)


def otlp(records: Sequence[LogRecord], labels: Labels) -> bytes:
    """Return an `ExportLogsServiceRequest` as JSON."""
    processes: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        processes.setdefault(record.process, []).append(_otlp_record(record))
    return encode({
        "resourceLogs": [
            {
                "resource": {"attributes": _attributes({"service.name": SERVICE, "service.instance.id": process, **labels})},
                "scopeLogs": [{"scope": {"name": SERVICE}, "logRecords": lines}],
            }
            for process, lines in processes.items()
        ]
    })  # fmt: skip


def loki(records: Sequence[LogRecord], labels: Labels) -> bytes:
    """Return the body of a push: a stream for each process, level and area."""
    streams: dict[tuple[str, str, str], list[list[str]]] = {}
    for record in records:
        key = (record.process, record.level, record.area)
        line = [str(record.at_ms * 1_000_000), encode(_members(record)).decode()]
        streams.setdefault(key, []).append(line)
    return encode({
        "streams": [
            {"stream": _filled({"service_name": SERVICE, "process": process, "level": level, "area": area, **labels}), "values": lines}
            for (process, level, area), lines in streams.items()
        ]
    })  # fmt: skip


def syslog(record: LogRecord, labels: Labels, host: str) -> bytes:
    """Return a message, without its frame."""
    at = datetime.fromtimestamp(record.at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    named = {
        "area": record.area,
        "status": str(record.status or ""),
        "user": record.user,
        "function": record.function,
        "request_id": record.request_id,
        **labels,
    }
    parameters = "".join(f' {name}="{_escaped(value)}"' for name, value in named.items() if value)
    data = f"[{_ENTERPRISE}{parameters}]" if parameters else "-"
    text = record.text if not record.fields else f"{record.text} {encode(record.fields).decode()}"
    head = f"<{_LOCAL0 + _PRIORITIES[record.level]}>1 {at} {_name(host, 255)} {SERVICE} {_name(record.process, 128)} {_name(record.kind, 32)}"
    return f"{head} {data} {text}".encode("utf-8", "replace")


def octet_counted(message: bytes) -> bytes:
    """Return a syslog message with its frame for TCP and TLS."""
    return b"%d %b" % (len(message), message)


BODIES: Mapping[str, tuple[str, Callable[[Sequence[LogRecord], Labels], bytes]]] = {
    "json": ("application/x-ndjson", json_lines),
    "otlp": ("application/json", otlp),
    "loki": ("application/json", loki),
}
"""Form of HTTP -> content type, and what makes the body."""


def _members(record: LogRecord) -> dict[str, Any]:
    at = (
        datetime.fromtimestamp(record.at_ms / 1000, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )
    return _filled({
        "timestamp": at,
        "level": record.level,
        "process": record.process,
        "kind": record.kind,
        "message": record.text,
        "area": record.area,
        "status": record.status,
        "user": record.user,
        "function": record.function,
        "request_id": record.request_id,
        "duration_ms": record.duration_ms,
        "fields": record.fields,
    })  # fmt: skip


def _otlp_record(record: LogRecord) -> dict[str, Any]:
    number, text = _SEVERITIES[record.level]
    named = {
        "headwater.kind": record.kind,
        "headwater.area": record.area,
        "http.response.status_code": record.status,
        "enduser.id": record.user,
        "faas.name": record.function,
        "headwater.request_id": record.request_id,
        "headwater.duration_ms": record.duration_ms,
        **{f"headwater.field.{name}": value for name, value in record.fields.items()},
    }
    return {
        "timeUnixNano": str(record.at_ms * 1_000_000),
        "severityNumber": number,
        "severityText": text,
        "body": {"stringValue": record.text},
        "attributes": _attributes(_filled(named)),
    }


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _any_value(value)} for name, value in values.items()]


def _any_value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
    return {"stringValue": encode(value).decode()}


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in ("", 0, None, {})}


def _name(text: str, longest: int) -> str:
    """Return a field of the head: printable ASCII without blanks, `-` for none."""
    return "".join(sign if "!" <= sign <= "~" else "_" for sign in text)[:longest] or "-"


def _escaped(text: str) -> str:
    """Return a parameter's value. RFC 5424, 6.3.3."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")
