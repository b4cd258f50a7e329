"""QR codes as SVG that can be put into a `data:` URL without escaping. Pure.

Error correction level H: a third of the picture may be covered. Sources: docs/reference/auth.md, section 9.1; ISO/IEC 18004.
"""

import io

import segno

MAX_BYTES = 800
"""Bytes of the longest text; a QR code could hold some more, but takes longer to draw (80 ms; 15 ms for usual texts)."""
_SCALE = 4
_COLOURS = (("#fff", "white"), ("#000", "black"))
"""A `#` would end a `data:` URL, and clients put the picture into one without encoding it."""


def svg_of(text: str) -> str:
    """Draw a text as a QR code. Raises: ValueError beyond `MAX_BYTES`."""
    if len(text.encode()) > MAX_BYTES:
        raise ValueError("the text is too long for a QR code")
    code = segno.make(text, error="h", micro=False, boost_error=False)
    drawn = io.BytesIO()
    code.save(
        drawn,
        kind="svg",
        scale=_SCALE,
        dark="black",
        light="white",
        xmldecl=False,
        svgclass=None,
        lineclass=None,
        nl=False,
    )
    picture = drawn.getvalue().decode()
    for number, name in _COLOURS:
        picture = picture.replace(f'"{number}"', f'"{name}"')
    return picture
