"""Where a browser may be sent, and where never. Reference, sections 5.7, 11.2, 20; the attacks of issue 4."""

from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workers.auth.model.redirects.allow_list import RedirectRules, with_fragment, with_query
from workers.auth.model.redirects.globs import BadGlob

SITE = "https://app.example.com"


@pytest.mark.parametrize(
    ("site", "url", "is_allowed"),
    [
        (SITE, "https://app.example.com", True),
        (SITE, "https://app.example.com/any/path?x=1#frag", True),
        (SITE, "HTTPS://APP.Example.COM/x", True),
        (SITE, "https://app.example.com:443/x", True),
        (SITE, "https://app.example.com:8443/x", False),
        (SITE, "http://app.example.com/x", False),
        (SITE, "https://example.com/", False),
        (SITE, "https://other.example.com/", False),
        ("https://app.example.com:8443", "https://app.example.com:8443/x", True),
        ("https://app.example.com:8443", "https://app.example.com/x", False),
        ("http://localhost:3000", "http://localhost:5173/x", True),
        ("http://localhost:3000", "https://localhost:5173/x", False),
        ("http://127.0.0.1:3000", "http://127.0.0.1:9/x", True),
        ("http://127.0.0.1:3000", "http://localhost:3000/x", False),
        ("http://[::1]:3000", "http://[::1]:4000/x", True),
        (SITE, "http://127.0.0.1:3000/x", False),
        ("myapp://home", "myapp://home/x", True),
        ("myapp://home", "myapp://other", False),
        ("myapp://home", "otherapp://home", False),
    ],
)
def test_the_site_itself_is_allowed_and_any_port_of_loopback(site: str, url: str, is_allowed: bool) -> None:
    assert RedirectRules(site).allows(url) is is_allowed


@pytest.mark.parametrize(
    ("pattern", "url", "is_allowed"),
    [
        ("http://localhost:8000/*", "http://localhost:8000/path", True),
        ("http://localhost:8000/*", "http://localhost:3000", False),
        ("http://localhost:8000/*", "http://localhost:8000", False),
        ("http://localhost:8000/*", "http://localhost:8000/path/to/page", False),
        ("http://localhost:8000/*", "http://localhost:8000/index.html", False),
        ("http://localhost:8000/**", "http://localhost:8000/a/b.c?d=e/f", True),
        ("http://localhost:*/**", "http://localhost:1234/a", True),
        ("http://localhost**", "http://localhost:1234/a", True),
        ("https://x.co/cb", "https://x.co/cb", True),
        ("https://x.co/cb", "https://x.co/cb#frag", True),
        ("https://x.co/cb", "https://x.co/cb?x=1", False),
        ("https://x.co/cb", "https://X.CO/cb", True),
        ("https://x.co/cb", "https://x.co/CB", False),
        ("https://x.co:443/cb", "https://x.co/cb", True),
        ("https://x.co/cb", "https://x.co:443/cb", False),
        (r"https://x.co/cb\?x=*", "https://x.co/cb?x=1", True),
        ("https://*.x.co/**", "https://a.x.co/b", True),
        ("https://*.x.co/**", "https://x.co/b", False),
        ("https://*.x.co/**", "https://a.b.x.co/b", False),
        ("https://**.x.co/**", "https://a.b.x.co/b", True),
        ("https://pr-*-team.host.app/**", "https://pr-12-team.host.app/", True),
        ("https://{a,b}.x.co/", "https://b.x.co/", True),
        ("http{,s}://x.co/", "http://x.co/", True),
        ("https://[ab].x.co/", "https://c.x.co/", False),
        ("https://x.co**", "https://x.co/a/b", True),
        ("https://x.co**", "https://x.co", True),
        ("https://x.co*", "https://x.co", True),
        ("https://**", "https://anything.net/a/b", True),
        ("https://**/cb", "https://anything.net/a/cb", True),
        ("**", "https://anything.net/a/b", True),
        ("myapp://*", "myapp://login", True),
        ("myapp://*", "myapp://login/callback", False),
        ("myapp://**", "myapp://login/callback?x=1", True),
        ("com.my_cool_app.x://callback", "com.my_cool_app.x://callback", True),
        ("com.app:/cb", "com.app:/cb", True),
        ("exp://192.168.1.2:19000/**", "exp://192.168.1.2:19000/--/cb", True),
        ("https://x.co/p\u00e4th", "https://x.co/p\u00e4th", True),
        (" https://x.co/cb ", "https://x.co/cb", True),
    ],
)  # fmt: skip
def test_patterns_allow_what_they_say(pattern: str, url: str, is_allowed: bool) -> None:
    assert RedirectRules(SITE, [pattern]).allows(url) is is_allowed


ATTACKS = [
    "//evil.com",
    "///evil.com",
    "/\\evil.com",
    "\\\\evil.com",
    "/relative",
    "relative",
    "https:evil.com",
    "https:/evil.com",
    "https:///evil.com",
    "https:////evil.com",
    "https:\\\\evil.com",
    "https:/\\evil.com",
    "https://app.example.com\\@evil.com",
    "https://evil.com\\.app.example.com",
    "https://app.example.com@evil.com",
    "https://app.example.com:pass@evil.com/",
    "https://app.example.com%40evil.com",
    "https://app.example.com%2f@evil.com",
    "https://evil.com%2f.app.example.com",
    "https://evil.com%00.app.example.com",
    "https://evil%2ecom",
    "https://app.example.com\u3002evil.com",
    "https://\uff45vil.com",
    "https://app.example.com\uff0fevil.com",
    "https://faceboo\u212a.com",
    "https://app.example.com\u2044evil.com",
    "https://app.example.com\u200b.evil.com",
    "https://app.example.com\n.evil.com",
    "https://app.example.com\t.evil.com",
    " https://app.example.com",
    "\thttps://2130706433/",
    "\x00https://app.example.com",
    "https://app.example.com/ x",
    "https://app.example.com/\r\nSet-Cookie: a=b",
    "https://app.example.com/\xa0x",
    "https://app.example.com/\tx",
    "%68ttps://evil.com",
    "myapp://done@evil.com",
    "https://app.example.com/\u2028x",
    "https://app.example.com/\ud83d",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.0.0.1/",
    "https://017700000001/",
    "https://0177.0.0.1/",
    "https://127.1/",
    "https://10.0.0.1/",
    "https://169.254.169.254/latest",
    "https://93.184.216.34/",
    "https://1.2.3.4.5/",
    "https://[::ffff:10.0.0.1]/",
    "https://[fe80::1]/",
    "https://[127.0.0.1]/",
    "https://[::1%25eth0]/",
    "https://[::1/",
    "https://app_example.com/",
    "https://-evil.com/",
    "https://evil.com./",
    "https://evil..com/",
    "https://app.example.com:99999/",
    "https://app.example.com:0/",
    "https://app.example.com:/",
    "https://app.example.com:80:90/",
    "https://app.example.com:４４３/",
    "https://app.example.com/../x",
    "https://app.example.com/a/%2e%2E/x",
    "https://app.example.com/a/.%2e",
    "https://app.example.com/a/.",
    "javascript:alert(1)",
    "JavaScript://app.example.com/%0aalert(1)",
    "java\tscript:alert(1)",
    "data:text/html,<script>",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://app.example.com/x",
    "about:blank",
    "view-source:https://app.example.com",
    "https://app.example.com/" + "a" * 5000,
    "",
    "#",
    "https://",
    "https://?",
]


@pytest.mark.parametrize("url", ATTACKS)
def test_what_a_browser_could_read_otherwise_is_never_allowed(url: str) -> None:
    """Not even where the list allows everything."""
    rules = RedirectRules(SITE, ["**", "https://**", "*://**", "https://*.example.com/**"])

    assert not rules.allows(url)
    assert rules.target([url]) == SITE


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("https://**.x.co/**", "https://evil.com/.x.co/"),
        ("https://**.x.co/**", "https://evil.com?.x.co/"),
        ("https://**.x.co/**", "https://evil.com#.x.co/"),
        ("https://*.x.co", "https://evil.com/y.x.co"),
        ("https://x.co**", "https://x.co.evil.com/"),
        ("https://x.co*", "https://x.comevil/"),
        ("https://x.co**", "https://x.community/"),
        ("https://x.co:3000**", "https://x.co:30001/"),
        ("https://x.co/**", "https://x.co.evil.com/"),
        ("https://x?co/", "https://x/co/"),
        ("https://[!a].x.co/", "https:///.x.co/"),
        ("http://localhost**", "http://localhost.evil.com/"),
        ("http://127.0.0.1**", "http://127.0.0.1.evil.com/"),
        ("*://x.co/**", "javascript://x.co/%0aalert(1)"),
        ("https://x.co/app/**", "https://x.co/app/../admin"),
    ],
)
def test_a_wildcard_does_not_reach_into_another_part(pattern: str, url: str) -> None:
    assert not RedirectRules(SITE, [pattern]).allows(url)


def test_the_first_allowed_candidate_is_the_target_and_else_the_site() -> None:
    rules = RedirectRules(SITE, ["https://x.co/**"])

    assert rules.target([None, "", "https://evil.com", "https://x.co/a", SITE]) == "https://x.co/a"
    assert rules.target([None, "https://evil.com"]) == SITE
    assert rules.target([]) == SITE


def test_a_target_is_ascii_and_keeps_its_escapes() -> None:
    rules = RedirectRules(SITE, ["https://x.co/**"])

    assert rules.target(["https://x.co/p\u00e4th%20x?a=\u540d&b=[1]#\u00fc"]) == (
        "https://x.co/p%C3%A4th%20x?a=%E5%90%8D&b=[1]#%C3%BC"
    )


def test_a_site_that_is_no_address_allows_only_the_list() -> None:
    rules = RedirectRules("not a url", ["https://x.co/**"])

    assert rules.allows("https://x.co/a")
    assert not rules.allows("https://app.example.com/")


def test_an_empty_pattern_allows_nothing() -> None:
    assert not RedirectRules(SITE, ["", "  "]).allows("https://x.co/")


@pytest.mark.parametrize("pattern", ["https://{a", "https://[a", "https://a\\"])
def test_a_malformed_pattern_is_refused_at_the_start(pattern: str) -> None:
    with pytest.raises(BadGlob):
        RedirectRules(SITE, [pattern])


_PIECES = [
    "https:", "http:", "//", "/", "\\", "@", ":", "#", "?", "%2f", "%40", "%2e", "..", ".", "evil.com", "app.example.com",
    "x.co", "127.0.0.1", "[::1]", "2130706433", "\t", "\n", " ", "\u3002", "\uff0f", "\u212a", "user", "443", "a", "javascript:",
]  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=12).map("".join) | st.text(max_size=60))
@example("https://app.example.com:443@x.co/")
@example("https://x.co\u3002/")
def test_whatever_is_allowed_names_an_allowed_host_to_an_independent_parser(url: str) -> None:
    rules = RedirectRules(SITE, ["https://x.co/**", "https://*.x.co/**"])

    if rules.allows(url):
        parts = urlsplit(url)
        assert parts.scheme == "https"
        assert parts.username is None
        assert parts.hostname in ("app.example.com", "x.co") or str(parts.hostname).endswith(".x.co")
        assert rules.target([url]).isascii()


@given(st.text(max_size=40))
def test_any_text_gives_a_target(text: str) -> None:
    assert RedirectRules(SITE, ["https://x.co/**", "myapp://**"]).target([text])


# --- Results added -----------------------------------------------------------------------------------------------


def test_results_are_added_to_the_query_before_the_fragment() -> None:
    assert with_query("https://x.co/cb", {"code": "a b"}) == "https://x.co/cb?code=a+b"
    assert with_query("https://x.co/cb?x=1#f", {"code": "c"}) == "https://x.co/cb?x=1&code=c#f"
    assert with_query("https://x.co/cb?", {"code": "c"}) == "https://x.co/cb?code=c"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://x.co/cb?code=theirs&x=1", "https://x.co/cb?x=1&code=ours"),
        ("https://x.co/cb?x=1&c%6Fde=theirs&code#f", "https://x.co/cb?x=1&code=ours#f"),
        ("https://x.co/cb?codes=a%20b&&code=theirs", "https://x.co/cb?codes=a%20b&code=ours"),
        ("myapp://cb?code=theirs", "myapp://cb?code=ours"),
    ],
)
def test_nobody_else_s_result_stays_in_the_query(url: str, shown: str) -> None:
    assert with_query(url, {"code": "ours"}) == shown


def test_results_take_the_place_of_the_fragment() -> None:
    fields = {"token_type": "bearer", "access_token": "t", "expires_in": "3600"}

    assert with_fragment("https://x.co/cb?x=1#old", fields) == (
        "https://x.co/cb?x=1#access_token=t&expires_in=3600&sb=&token_type=bearer"
    )


def test_a_message_reads_as_the_reference_has_it() -> None:
    message = "Confirmation link accepted. Please proceed to confirm link sent to the other email"

    assert with_fragment(SITE, {"message": message}) == (
        f"{SITE}#message=Confirmation+link+accepted.+Please+proceed+to+confirm+link+sent+to+the+other+email&sb="
    )


@given(
    st.dictionaries(
        st.sampled_from(["error", "error_code", "code"]),
        st.text(st.characters(codec="utf-8"), min_size=1),
        min_size=1,
    )
)
def test_no_value_gets_out_of_its_field(fields: dict[str, str]) -> None:
    shown = {name: [value] for name, value in fields.items()}

    assert parse_qs(urlsplit(with_query("https://x.co/cb#f", fields)).query) == shown
    assert parse_qs(urlsplit(with_fragment("https://x.co/cb", fields)).fragment) == shown


@pytest.mark.parametrize(
    ("pattern", "url", "is_allowed"),
    [
        ("**", "com.example.app://in", True),
        ("**://**", "com.example.app://in", True),
        ("**", "myapp://in", False),
        ("{myapp,other}://**", "myapp://in", True),
        ("myapp://**", "myapp://in", True),
        ("**", "ms-settings:x", False),
        ("*:**", "search-ms:query=x", False),
        ("intent://**", "intent://x", False),
        ("**", "ldap://a.example/x", False),
        ("**", "javascript:alert(1)", False),
        ("**", "data:text/html,x", False),
    ],
)
def test_a_wildcard_in_place_of_the_scheme_is_for_the_web_and_applications(
    pattern: str, url: str, is_allowed: bool
) -> None:
    assert RedirectRules("https://site.example", [pattern]).allows(url) is is_allowed
