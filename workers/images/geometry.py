"""Compute the size of a result and the part of the source that it shows (pure).

    RenderPlan: scale the source to (width, height), then cut the box (box_width, box_height) out of it

Photographs are never enlarged; drawings (SVG) may be: they can have any size.
Source: docs/reference/storage.md, section 8.
"""

from dataclasses import dataclass

from schemas.images.transform import Transform

DEFAULT_BOX = (3000, 8192)
"""The box into which an image is fitted if neither side is requested."""

LONGEST = 16_383
"""Maximum pixels of a side: what every output format can hold."""

_FIRST, _LAST = "first", "last"
_EDGES: dict[str, tuple[str, str]] = {
    "no": ("", _FIRST), "so": ("", _LAST), "ea": (_LAST, ""), "we": (_FIRST, ""),
    "noea": (_LAST, _FIRST), "nowe": (_FIRST, _FIRST), "soea": (_LAST, _LAST), "sowe": (_FIRST, _LAST),
}  # fmt: skip
"""Gravity -> the edges that the crop keeps (horizontal, vertical); an empty text means the middle."""


@dataclass(frozen=True, slots=True)
class RenderPlan:
    """Sizes in pixels, at least 1; the box is never larger than the scaled image."""

    width: int
    height: int
    box_width: int
    box_height: int

    @property
    def is_cut(self) -> bool:
        """Whether a part is cut off."""
        return (self.width, self.height) != (self.box_width, self.box_height)


def plan_of(transform: Transform, width: int, height: int, *, may_enlarge: bool = False) -> RenderPlan:
    """Return the plan for a source of this size (after its rotation)."""
    longest = min(LONGEST / width, LONGEST / height)
    most = longest if may_enlarge else 1.0
    across, down = transform.width / width, transform.height / height
    if not (across or down):
        return _whole(width, height, min(1.0, DEFAULT_BOX[0] / width, DEFAULT_BOX[1] / height))
    if not (across and down):
        return _whole(width, height, min(across or down, most, longest))
    match transform.resize:
        case "contain":
            return _whole(width, height, min(across, down, most))
        case "fill":
            sides = _side(width, min(across, most)), _side(height, min(down, most))
            return RenderPlan(*sides, *sides)
    scale = min(max(across, down), most)
    scaled = _side(width, scale), _side(height, scale)
    return RenderPlan(*scaled, min(scaled[0], transform.width), min(scaled[1], transform.height))


def corner_of(transform: Transform, plan: RenderPlan) -> tuple[int, int]:
    """Return the upper left corner of the box within the scaled image. The library places smart crops itself."""
    x, y = transform.x_offset or 0.0, transform.y_offset or 0.0
    if transform.gravity == "fp":
        left, top = plan.width * x - plan.box_width / 2, plan.height * y - plan.box_height / 2
    else:
        edge_x, edge_y = _EDGES.get(transform.gravity, ("", ""))
        left = _from_edge(plan.width, plan.box_width, edge_x, x)
        top = _from_edge(plan.height, plan.box_height, edge_y, y)
    return _within(left, plan.width - plan.box_width), _within(top, plan.height - plan.box_height)


def _whole(width: int, height: int, scale: float) -> RenderPlan:
    sides = _side(width, scale), _side(height, scale)
    return RenderPlan(*sides, *sides)


def _side(side: int, scale: float) -> int:
    return max(1, round(side * scale))


def _from_edge(side: int, box: int, edge: str, offset: float) -> float:
    pixels = side * offset if abs(offset) < 1 else offset
    match edge:
        case "first":
            return pixels
        case "last":
            return side - box - pixels
    return (side - box) / 2 + pixels


def _within(at: float, most: int) -> int:
    return max(0, min(round(at), most))
