"""JSON with comments and trailing commas, as deno.json and its like are written (pure)."""

import re
from typing import Any

import msgspec

_PART = re.compile(
    r'(?P<text>"(?:[^"\\]|\\.)*")|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<comma>,)(?=(?:\s|//[^\n]*\n|/\*.*?\*/)*[\]}])',
    re.DOTALL,
)


def parse_jsonc(data: bytes) -> Any:
    """Give the value of a text. Raises: ValueError, which tells what is wrong with it."""
    text = data.decode(errors="replace").removeprefix("\ufeff")
    try:
        return msgspec.json.decode(_PART.sub(lambda found: found["text"] or " ", text))
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None
