from hypothesis import given
from hypothesis import strategies as st

from tests.workers.images.from_fork import from_fork
from tests.workers.images.samples import quarters, written
from workers.images.jpeg_scan import has_scan

WHOLE = from_fork(lambda: written(quarters(), "jpg"))
SCAN = WHOLE.index(b"\xff\xda")
PIXELS = SCAN + 2 + int.from_bytes(WHOLE[SCAN + 2 : SCAN + 4], "big")


def test_pixels_begin_behind_the_head_of_the_scan() -> None:
    assert has_scan(WHOLE)
    assert has_scan(WHOLE[: PIXELS + 1])
    assert not has_scan(WHOLE[:PIXELS])
    assert not has_scan(WHOLE[:PIXELS] + b"\xff\xd9")
    assert not has_scan(WHOLE[:SCAN])
    assert not has_scan(WHOLE[:3])
    assert has_scan(WHOLE[:SCAN] + b"\xff" + WHOLE[SCAN:])


@given(st.binary(max_size=300))
def test_any_bytes_are_answered(noise: bytes) -> None:
    assert has_scan(WHOLE[:2] + noise) in (True, False)
