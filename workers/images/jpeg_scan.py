"""Find out whether a JPEG that ends early has any pixels (pure).

A JPEG is a list of segments: a marker (0xFF and a byte), a length of two bytes that counts itself, the content. The
segment "start of scan" is followed by compressed pixels without a length. libjpeg fills in grey for what is missing, so
its result does not show whether anything was decoded. Source: ITU-T T.81, B.1.
"""

from collections.abc import Sequence

_MARKER, _START_OF_SCAN, _END = 0xFF, 0xDA, 0xD9
_FIRST_SEGMENT = 2


def has_scan(source: Sequence[int]) -> bool:
    """Return whether compressed pixels follow the first start of scan; True where the segments cannot be followed."""
    at = _FIRST_SEGMENT
    while at + 4 <= len(source):
        if source[at] != _MARKER:
            return True
        kind = source[at + 1]
        if kind == _MARKER:  # a fill byte
            at += 1
            continue
        behind = at + 2 + (source[at + 2] << 8 | source[at + 3])
        if kind == _START_OF_SCAN:
            rest = source[behind : behind + 2]
            return len(rest) > 0 and bytes(rest) != bytes((_MARKER, _END))
        at = behind
    return False
