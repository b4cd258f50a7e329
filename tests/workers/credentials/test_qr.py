"""Pictures of texts. Reference, section 9.1."""

import xml.etree.ElementTree as ElementTree
from urllib.parse import urlsplit

import pytest
import segno

from workers.credentials.qr import MAX_BYTES, svg_of

TEXT = "otpauth://totp/example.org:a@example.org?secret=JBSWY3DPEHPK3PXP&issuer=example.org"


def dark_squares(svg: str) -> set[tuple[int, int]]:
    """Read the strokes of a picture: moves and runs to the right, half a square down."""
    strokes = ElementTree.fromstring(svg).findall(".//{http://www.w3.org/2000/svg}path[@stroke]")
    assert len(strokes) == 1
    found, x, y = set(), 0.0, 0.0
    for command, text in _commands(strokes[0].attrib["d"]):
        numbers = [float(each) for each in text.replace("-", " -").split()]
        if command == "M":
            x, y = numbers
        elif command == "m":
            x, y = x + numbers[0], y + numbers[1]
        else:
            assert command == "h"
            found |= {(int(x) + step, int(y)) for step in range(int(numbers[0]))}
            x += numbers[0]
    return found


def _commands(path: str) -> list[tuple[str, str]]:
    starts = [at for at, sign in enumerate(path) if sign.isalpha()]
    return [(path[at], path[at + 1 : end]) for at, end in zip(starts, [*starts[1:], len(path)], strict=True)]


def test_the_picture_is_the_code_of_the_text_at_the_highest_level():
    code = segno.make(TEXT, error="h", micro=False, boost_error=False)

    border, rows = 4, list(code.matrix)
    assert code.error == "H"
    assert dark_squares(svg_of(TEXT)) == {
        (x + border, y + border) for y, row in enumerate(rows) for x, dark in enumerate(row) if dark
    }


def test_a_browser_shows_the_picture_from_a_data_address_as_it_is():
    svg = svg_of(TEXT)
    address = urlsplit(f"data:image/svg+xml;utf-8,{svg}")

    assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert (address.fragment, address.query) == ("", "")
    assert "%" not in svg
    assert not {"<script", "<!", "<?"} & set(svg.split())


def test_a_text_that_is_too_long_is_refused():
    assert svg_of("x" * MAX_BYTES)
    for text in ("x" * (MAX_BYTES + 1), "ä" * (MAX_BYTES // 2 + 1)):
        with pytest.raises(ValueError, match="too long"):
            svg_of(text)
