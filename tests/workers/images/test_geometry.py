"""Sizes and crops: nothing is enlarged, boxes are kept, gravity holds on to its edge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.images.transform import GRAVITIES, Transform
from workers.images.geometry import LONGEST, RenderPlan, corner_of, plan_of

SIDE = st.integers(1, 20_000)
ASKED = st.integers(0, 2000)


@pytest.mark.parametrize(
    ("transform", "source", "plan"),
    [
        (Transform(200, 200), (800, 400), RenderPlan(400, 200, 200, 200)),
        (Transform(200, 200), (400, 800), RenderPlan(200, 400, 200, 200)),
        (Transform(200, 200), (100, 400), RenderPlan(100, 400, 100, 200)),
        (Transform(200, 200), (50, 50), RenderPlan(50, 50, 50, 50)),
        (Transform(200, 200, "contain"), (800, 400), RenderPlan(200, 100, 200, 100)),
        (Transform(200, 200, "contain"), (50, 40), RenderPlan(50, 40, 50, 40)),
        (Transform(200, 200, "fill"), (800, 400), RenderPlan(200, 200, 200, 200)),
        (Transform(200, 200, "fill"), (100, 400), RenderPlan(100, 200, 100, 200)),
        (Transform(width=200), (800, 400), RenderPlan(200, 100, 200, 100)),
        (Transform(height=200), (800, 400), RenderPlan(400, 200, 400, 200)),
        (Transform(width=200, resize="fill"), (800, 400), RenderPlan(200, 100, 200, 100)),
        (Transform(width=900), (800, 400), RenderPlan(800, 400, 800, 400)),
        (Transform(), (800, 400), RenderPlan(800, 400, 800, 400)),
        (Transform(), (6000, 4000), RenderPlan(3000, 2000, 3000, 2000)),
        (Transform(), (1000, 16384), RenderPlan(500, 8192, 500, 8192)),
        (Transform(width=1), (1000, 1), RenderPlan(1, 1, 1, 1)),
        (Transform(height=700), (60_000, 800), RenderPlan(16_383, 218, 16_383, 218)),
    ],
)
def test_modes(transform: Transform, source: tuple[int, int], plan: RenderPlan) -> None:
    assert plan_of(transform, *source) == plan


def test_a_drawing_may_be_enlarged_as_far_as_a_file_can_hold() -> None:
    assert plan_of(Transform(200, 200, "contain"), 40, 20, may_enlarge=True) == RenderPlan(200, 100, 200, 100)
    assert plan_of(Transform(width=400), 40, 20, may_enlarge=True) == RenderPlan(400, 200, 400, 200)
    assert plan_of(Transform(), 40, 20, may_enlarge=True) == RenderPlan(40, 20, 40, 20)
    assert plan_of(Transform(width=2000), 1, 10_000, may_enlarge=True).height <= LONGEST


@given(SIDE, SIDE, ASKED, ASKED, st.sampled_from(("cover", "contain", "fill")), st.booleans())
def test_every_plan_holds_to_the_rules(
    width: int, height: int, w: int, h: int, resize: str, enlarge: bool
) -> None:
    transform = Transform(w, h, resize)  # type: ignore[arg-type]  # drawn from its values

    plan = plan_of(transform, width, height, may_enlarge=enlarge)

    assert 1 <= plan.box_width <= plan.width
    assert 1 <= plan.box_height <= plan.height
    if not enlarge:
        assert plan.width <= width
        assert plan.height <= height
    if w:
        assert plan.box_width <= w
    if h:
        assert plan.box_height <= h
    if w and h and w <= width and h <= height and resize != "contain" and not enlarge:
        assert abs(plan.box_width - w) <= 1
        assert abs(plan.box_height - h) <= 1
    if resize == "contain" and not enlarge:
        assert abs(plan.width * height - plan.height * width) <= max(width, height)


@pytest.mark.parametrize(
    ("gravity", "corner"),
    [
        ("", (50, 25)), ("ce", (50, 25)), ("no", (50, 0)), ("so", (50, 50)), ("ea", (100, 25)), ("we", (0, 25)),
        ("noea", (100, 0)), ("nowe", (0, 0)), ("soea", (100, 50)), ("sowe", (0, 50)),
    ],
)  # fmt: skip
def test_gravity_holds_on_to_its_edge(gravity: str, corner: tuple[int, int]) -> None:
    assert corner_of(Transform(100, 100, gravity=gravity), RenderPlan(200, 150, 100, 100)) == corner


@pytest.mark.parametrize(
    ("transform", "corner"),
    [
        (Transform(gravity="nowe", x_offset=10.0, y_offset=20.0), (10, 20)),
        (Transform(gravity="soea", x_offset=10.0, y_offset=20.0), (90, 30)),
        (Transform(gravity="ce", x_offset=-10.0, y_offset=20.0), (40, 45)),
        (Transform(gravity="nowe", x_offset=0.25, y_offset=0.1), (50, 15)),
        (Transform(gravity="nowe", x_offset=-5.0, y_offset=900.0), (0, 50)),
        (Transform(gravity="fp", x_offset=0.0, y_offset=1.0), (0, 50)),
        (Transform(gravity="fp", x_offset=0.5, y_offset=0.5), (50, 25)),
        (Transform(gravity="fp", x_offset=0.6, y_offset=0.4), (70, 10)),
    ],
)
def test_offsets_move_the_box_and_keep_it_inside(transform: Transform, corner: tuple[int, int]) -> None:
    assert corner_of(transform, RenderPlan(200, 150, 100, 100)) == corner


@given(
    SIDE, SIDE, ASKED, ASKED, st.sampled_from(GRAVITIES), st.floats(-99999, 99999), st.floats(-99999, 99999)
)
def test_every_box_lies_inside(
    width: int, height: int, w: int, h: int, gravity: str, x: float, y: float
) -> None:
    transform = Transform(w, h, gravity=gravity, x_offset=x, y_offset=y)
    plan = plan_of(transform, width, height)

    left, top = corner_of(transform, plan)

    assert 0 <= left <= plan.width - plan.box_width
    assert 0 <= top <= plan.height - plan.box_height
