"""The place of a value is read from the text before it."""

import pytest

from workers.auth.delivery.gotext.nodes import Place
from workers.auth.delivery.gotext.places import Tracker


@pytest.mark.parametrize(
    ("before", "place"),
    [
        ("", Place.TEXT),
        ("<p>", Place.TEXT),
        ("<p class=", Place.BARE),
        ("<p class = ", Place.BARE),
        ('<p class="', Place.TEXT),
        ("<a href='", Place.URL),
        ('<a HREF="', Place.URL),
        ('<a href="x', Place.URL),
        ("<a href=x", Place.BARE_URL),
        ('<a href="x?', Place.QUERY),
        ('<a href="x#', Place.QUERY),
        ("<a href=x?y=", Place.QUERY),
        ('<a href="x?y" title="', Place.TEXT),
        ('<a href="x?y">', Place.TEXT),
        ("a=", Place.TEXT),
        ('<a href="x>y?', Place.QUERY),
        ('<a title="a<b" href="', Place.URL),
        ("<a href=", Place.BARE_URL),
        ("<p title='" + "x" * 5000, Place.TEXT),
    ],
)
def test_place_follows_from_the_text(before: str, place: Place) -> None:
    tracker = Tracker()

    tracker.read(before)

    assert tracker.place() is place
