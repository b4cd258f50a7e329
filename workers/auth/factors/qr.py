"""Texts as pictures that a camera reads: SVG that can stand in a `data:` address as it is. Pure.

Error level H: a third of the picture may be covered. Source: reference page "auth", section 9.1; ISO/IEC 18004.
"""

import io

import segno

MOST_BYTES = 800
"""Bytes of the longest text; a picture holds some more, but takes the longer to draw (80 ms; 15 for usual ones)."""
_SCALE = 4
_COLOURS = (("#fff", "white"), ("#000", "black"))
"""A `#` would end a `data:` address, and clients put the picture into one without encoding it."""


def svg_of(text: str) -> str:
    """Draw a text as a QR code. Raises: ValueError beyond `MOST_BYTES`."""
    if len(text.encode()) > MOST_BYTES:
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
