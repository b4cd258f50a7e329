"""Plain text made from HTML."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.auth.delivery.plain_text import plain_text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h2>A</h2><p>b\n  c</p>", "A\n\nb c\n"),
        ("a<br>b<br/>c", "a\nb\nc\n"),
        ('<p><a href="https://x.example/?a=1&amp;b=2">Go</a></p>', "Go (https://x.example/?a=1&b=2)\n"),
        ('<a href="https://x">https://x</a>', "https://x\n"),
        ('<a href="https://x"><img src="y"></a>', "https://x\n"),
        ("<ul><li>a</li><li>b</li></ul>", "- a\n- b\n"),
        ("<head><title>T</title><style>p{}</style></head><body><p>x</p></body>", "x\n"),
        ("<head><title>T</title><body>x", "x\n"),
        ("a<script>alert(1)</script>b &lt;c&gt; &eacute;", "ab <c> é\n"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\n\nc\n"),
        ("", "\n"),
    ],
)
def test_html_becomes_text(html: str, text: str) -> None:
    assert plain_text(html) == text


@given(
    st.lists(
        st.sampled_from(
            ["<p>", "</p>", "<a href='x'>", "</a>", "<head>", "<", ">", "&", "x", "<!--", "<![CDATA["]
        )
    ).map("".join)
)
def test_any_markup_gives_a_text(html: str) -> None:
    assert plain_text(html).endswith("\n")
