"""The place of a value is read from the text before it."""

import pytest

from workers.auth.delivery.gotext.html_context import HtmlTracker
from workers.auth.delivery.gotext.nodes import HtmlContext


@pytest.mark.parametrize(
    ("before", "place"),
    [
        ("", HtmlContext.TEXT),
        ("<p>", HtmlContext.TEXT),
        ("<p class=", HtmlContext.BARE),
        ("<p class = ", HtmlContext.BARE),
        ('<p class="', HtmlContext.TEXT),
        ("<a href='", HtmlContext.URL),
        ('<a HREF="', HtmlContext.URL),
        ('<a href="x', HtmlContext.URL),
        ("<a href=x", HtmlContext.BARE_URL),
        ('<a href="x?', HtmlContext.QUERY),
        ('<a href="x#', HtmlContext.QUERY),
        ("<a href=x?y=", HtmlContext.QUERY),
        ('<a href="x?y" title="', HtmlContext.TEXT),
        ('<a href="x?y">', HtmlContext.TEXT),
        ("a=", HtmlContext.TEXT),
        ('<a href="x>y?', HtmlContext.QUERY),
        ('<a title="a<b" href="', HtmlContext.URL),
        ("<a href=", HtmlContext.BARE_URL),
        ("<p title='" + "x" * 5000, HtmlContext.TEXT),
    ],
)
def test_place_follows_from_the_text(before: str, place: HtmlContext) -> None:
    tracker = HtmlTracker()

    tracker.read(before)

    assert tracker.place() is place
