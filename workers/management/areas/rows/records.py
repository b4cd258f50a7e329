"""CSV, JSON and NDJSON as they arrive -> records with their lines. Pure; memory is bounded by the longest record.

A record becomes the text of a JSON object whose values `json_populate_recordset` reads by the types of the columns. Numbers of JSON
and NDJSON stay the text that was sent, so no digit is lost. Fields of CSV are texts; one that equals `null_text` is NULL.
"""

import codecs
import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import msgspec

MAX_RECORD = 1024 * 1024
"""Characters of the longest record."""
csv.field_size_limit(MAX_RECORD)  # the library's own limit is shorter than fields that an export writes


class ImportedRecord(NamedTuple):
    """A record: the line in which it begins, the names of its fields, and its text as a JSON object."""

    line: int
    names: tuple[str, ...]
    text: str


class RecordError(NamedTuple):
    """A record that cannot be read."""

    line: int
    message: str


Parsed = ImportedRecord | RecordError


class UnreadableFile(Exception):
    """The rest of a file cannot be read; `line` is where."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line, self.message = line, message


class RecordParser(Protocol):
    """Reads one format. Feed it text; the last call has `is_last`."""

    def feed(self, text: str, *, is_last: bool) -> Iterator[Parsed]:
        """Yield the records that the text completes. Raises: UnreadableFile."""
        ...


class TextDecoder:
    """Decodes UTF-8, with or without a byte order mark, in pieces."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()

    def decode(self, data: bytes, *, is_last: bool) -> str:
        """Return the text of the bytes. Raises: UnreadableFile."""
        try:
            return self._decoder.decode(data, is_last)
        except UnicodeDecodeError:
            raise UnreadableFile(0, "The file is not UTF-8") from None


class CsvParser:
    """CSV (RFC 4180) whose first line names the columns. `json_columns`: columns whose fields are JSON.

    A record may contain line ends in quotes: text is cut at a line end behind an even number of quotes. So a quote inside of a field that does
    not begin with one is an error: the library would take it as a sign of the field, Postgres as the begin of a quoted part.
    """

    def __init__(self, delimiter: str, null_text: str, json_columns: frozenset[str]) -> None:
        self._delimiter, self._null, self._json_columns = delimiter, null_text, json_columns
        self._rest = ""
        self._line = 1
        self._names: tuple[str, ...] | None = None
        sign = re.escape(delimiter)
        field = rf'(?:"[^"]*+(?:""[^"]*+)*+"|[^"{sign}\r\n]*+)'
        self._records = re.compile(rf"(?:(?!\Z){field}(?:{sign}{field})*+(?:\r\n|\r|\n|\Z))*+")

    def feed(self, text: str, *, is_last: bool) -> Iterator[Parsed]:
        begin, text = len(self._rest), self._rest + text
        end = len(text) if is_last else _whole_lines(text, begin)
        self._rest = text[end:]
        if len(self._rest) > MAX_RECORD:
            raise UnreadableFile(self._line, "A record is too long: a closing quote may be missing")
        matched = self._records.match(text[:end])
        good = matched.end() if matched else 0
        first, self._line = self._line, self._line + _line_ends(text, good)
        reader = csv.reader(io.StringIO(text[:good], newline=""), delimiter=self._delimiter, strict=True)
        begun = 0
        try:
            for fields in reader:
                line, begun = first + begun, reader.line_num
                if fields:
                    yield from self._record(fields, line)
        except csv.Error as error:
            raise UnreadableFile(first + begun, f"This is not CSV: {error}") from None
        if good < end:
            raise UnreadableFile(
                self._line, "This is not CSV: a field with a quote in it must stand in quotes"
            )

    def _record(self, fields: list[str], line: int) -> Iterator[Parsed]:
        if self._names is None:
            self._names = tuple(fields)
            if len(set(fields)) < len(fields):
                raise UnreadableFile(line, "The header names a column twice")
        elif len(fields) != len(self._names):
            yield RecordError(line, f"{len(fields)} fields, and the header has {len(self._names)}")
        else:
            try:
                pairs = (self._member(name, field) for name, field in zip(self._names, fields, strict=True))
                yield ImportedRecord(line, self._names, "{" + ",".join(pairs) + "}")
            except ValueError as error:
                yield RecordError(line, str(error))

    def _member(self, name: str, field: str) -> str:
        if field == self._null:
            return f"{json.dumps(name)}:null"
        if name in self._json_columns:
            try:
                msgspec.json.decode(field)
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                raise ValueError(f"{name} is not JSON") from None
            return f"{json.dumps(name)}:{field}"
        return f"{json.dumps(name)}:{json.dumps(field)}"


def _whole_lines(text: str, begin: int) -> int:
    """Return the length of the whole records at the beginning of a text; none ends before `begin`, so that is not searched again."""
    end = text.rfind("\n", begin)
    quotes = text.count('"', 0, end + 1)
    while end >= begin and quotes % 2:
        before = max(begin - 1, text.rfind("\n", begin, end))
        quotes -= text.count('"', before + 1, end + 1)
        end = before
    return end + 1 if end >= begin else 0


def _line_ends(text: str, end: int) -> int:
    """Return the number of line ends before a place, as the library counts them: also those of a carriage return alone."""
    return text.count("\n", 0, end) + text.count("\r", 0, end) - text.count("\r\n", 0, end)


class NdjsonParser:
    """JSON objects, one a line."""

    def __init__(self) -> None:
        self._rest = ""
        self._line = 0

    def feed(self, text: str, *, is_last: bool) -> Iterator[Parsed]:
        *lines, self._rest = (self._rest + text).split("\n")
        if is_last and self._rest:
            lines.append(self._rest)
            self._rest = ""
        if len(self._rest) > MAX_RECORD:
            raise UnreadableFile(self._line + 1, "A line is too long")
        for line in lines:
            self._line += 1
            if line and not line.isspace():
                yield json_record(self._line, line)


_BETWEEN = re.compile(r"[\s,]*")


class JsonParser:
    """A JSON array of objects. A record that is not whole is read again when it has twice as many characters: pieces may be short."""

    def __init__(self) -> None:
        self._rest = ""
        self._next_try = 0
        self._line = 1
        self._is_begun = self._is_over = False
        self._decoder = json.JSONDecoder(parse_float=str, parse_int=str)

    def feed(self, text: str, *, is_last: bool) -> Iterator[Parsed]:
        text, at = self._rest + text, 0
        while True:
            match = _BETWEEN.match(text, at)
            at, before = (match.end() if match else at), at
            self._line += text.count("\n", before, at)
            if at >= len(text) or not self._enters(text[at]):
                break
            if self._is_over or text[at] == "[":
                at += 1
                continue
            is_bounded = not is_last and len(text) - at <= MAX_RECORD
            if is_bounded and len(text) - at < self._next_try:
                break
            end = self._end_of_value(text, at)
            if end is None:
                if not is_bounded:
                    raise UnreadableFile(self._line, "This is not JSON, or the file ends within a record")
                self._next_try = 2 * (len(text) - at)
                break
            self._next_try = 0
            yield json_record(self._line, text[at:end])
            self._line += text.count("\n", at, end)
            at = end
        self._rest = text[at:]
        if is_last and not (self._is_over and not self._rest):
            raise UnreadableFile(self._line, "The array does not end with ]")

    def _enters(self, sign: str) -> bool:
        """Note the brackets of the array; return whether reading goes on. Raises: UnreadableFile."""
        if self._is_over:
            raise UnreadableFile(self._line, "Something follows the array")
        if not self._is_begun:
            if sign != "[":
                raise UnreadableFile(self._line, "The file must be a JSON array of objects")
            self._is_begun = True
        elif sign == "]":
            self._is_over = True
        elif sign == "[":
            raise UnreadableFile(self._line, "The array must contain objects")
        return True

    def _end_of_value(self, text: str, at: int) -> int | None:
        if text[at] != "{":
            raise UnreadableFile(self._line, "The array must contain objects")
        try:
            return self._decoder.raw_decode(text, at)[1]
        except (ValueError, RecursionError):
            return None


def json_record(line: int, text: str) -> Parsed:
    """Return the record of a JSON object."""
    if len(text) > MAX_RECORD:
        return RecordError(line, f"A record may have {MAX_RECORD} characters")
    try:
        members = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return RecordError(line, "This is not a JSON object")
    return ImportedRecord(line, tuple(members), text)


def record_parser(
    format_name: str, options: dict[str, Any], json_columns: frozenset[str]
) -> RecordParser | None:
    """Return the parser of a format, None for an unknown one."""
    match format_name:
        case "csv":
            return CsvParser(options["delimiter"], options["null_text"], json_columns)
        case "json":
            return JsonParser()
        case "ndjson":
            return NdjsonParser()
    return None
