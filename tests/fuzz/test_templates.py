"""Templates of email: any text renders or is refused, and a value never becomes markup.

Two targets. One renders any template with any value: it ends, with a text or one of the two errors. The other makes HTML
templates whose actions stand in known places, renders them with a harmless value and with a hostile one, and lets a parser that
is not ours read both: they must have the same tags and attributes, and no address may run code.
"""

import json
from html.parser import HTMLParser
from random import Random

from tests.fuzz import mutate
from tests.fuzz.core import Budget, Target, run
from tests.fuzz.grammar import Grammar
from workers.auth.delivery.gotext.nodes import TemplateError
from workers.auth.delivery.gotext.parse import parse
from workers.auth.delivery.gotext.render import ResultTooLong, render
from workers.auth.delivery.plain_text import plain_text

_ANY = Grammar(
    r"""
start: «text»«action»«text» | «action»«action» | «text» | «html»«action»«html»«start»
text: | a | é | \n | {{ | }} | «html»
html: <b> | </b> | <a href=" | "> | <a title=' | '> | <img src= | > | <!-- | --> | <style> | ?x= | &amp;
action: {{«trim»«pipe»«end»}} | {{ if «pipe» }}«start»{{ end }} | {{ if «pipe» }}«start»{{ else if «pipe» }}«start»{{ else }}«text»{{ end }} | {{ range $i, $x := «pipe» }}«start»{{ else }}«text»{{ end }} | {{ with «pipe» }}«start»{{ end }} | {{ $x := «pipe» }} | {{ $x = «pipe» }} | {{/* c */}} | {{ range «pipe» }}«start»{{ end }}
trim: | - | \s
end: | \s | \s-
pipe: «term» | «term» \| «function» | «function» «term» | «function» «term» «term» | («pipe»).b | «term» \| «function» \| «function»
function: len | index | print | printf | println | eq | ne | lt | le | gt | ge | not | and | or | html | urlquery | js | slice
term: .A | .Data.b | .Data | . | $ | $x | $i | $x.a | "%s" | "%999d" | `raw` | 1 | -2.5 | 1e9 | 'c' | true | nil | "\"" | («pipe»)
"""
)
_VALUES = (
    '""',
    "0",
    "1",
    "-1",
    "1e308",
    "null",
    "true",
    "[]",
    "{}",
    '"<b>"',
    '[1,[2,"a"]]',
    '{"b":{"c":[1]},"a":"x"}',
    '"' + "x" * 300 + '"',
    "100000",
)

_HTML = Grammar(
    r"""
start: «piece»«piece» | «piece»«start» | «piece»
piece: <p>«out»</p> | <a href="«url»">x</a> | <a href='«url»'>x</a> | <a href=«bare»>x</a> | <p title="«quoted»">t</p> | <img src="«url»" alt='«quoted»'> | <td id=«bare»>y</td> | {{ if .Yes }}«piece»{{ end }} | {{ if .No }}«piece»{{ else }}«piece»{{ end }} | {{ range .Two }}«piece»{{ end }} | {{ with .V }}<p>{{ . }}</p>{{ end }} | <b>«out» and «out»</b> | text | {{ $v := .V }}<i title="{{ $v }}">{{ $v }}</i>
out: {{ .V }} | {{ $.V }} | {{ print .Yes $.V }} | {{ $.V \| html }} | {{ printf "%s!" $.V }}
url: «out» | https://a.example/«out» | https://a.example/?next=«out» | /x#«out» | «out»/verify?token=«out»&type=email | {{ if .No }}https://b.example/{{ end }}«out» | {{ if .Yes }}{{ end }}«out»
bare: «out» | x«out» | «out»y
quoted: «out» | a «out» b | &quot;«out»
"""
)
_HOSTILE = (
    '"><script>x</script>', "'><img src=x onerror=y>", "javascript:alert(1)", " java\tscript:x", "&#106;avascript:x", "data:text/html,x", "\u2028javascript:x",
    "x onmouseover=y", "x/><b>", "</a><script>", "<!--", "-->", "{{ .Secret }}", "`", "=", "\r\n<b>", "&quot;><b>", "\x00<b>", "%22%3E", "x'y\"z", "VbScript:x", "<", "\ud800<b>",
    "a=b c", "&lt;b&gt;", "j\u00adavascript:x", "//evil.example", "\\\"><b>", "<![CDATA[<b>]]>", "?a&b#c",
)  # fmt: skip
_SCHEMES = ("javascript:", "vbscript:", "data:")
_URLS = ("href", "src")


class _Outline(HTMLParser):
    """The tags of a document with the names of their attributes, and the addresses in it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.addresses: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.addresses += [value or "" for name, value in attrs if name in _URLS]

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(("/" + tag, ()))

    def handle_comment(self, data: str) -> None:
        self.tags.append(("!", ()))

    def handle_decl(self, decl: str) -> None:
        self.tags.append(("!", ()))

    unknown_decl = handle_pi = handle_decl


def _any(random: Random) -> bytes:
    return f"{random.choice(_VALUES)}\n{_ANY.make(random)}".encode()


def _check_any(case: bytes) -> None:
    values, _, template = case.decode(errors="replace").partition("\n")
    try:
        data = json.loads(values)
    except (ValueError, RecursionError):
        data = values
    try:
        nodes = parse(template)
    except TemplateError:
        return
    for is_html in (True, False):
        try:
            assert len(render(nodes, {"A": data, "Data": {"b": data}}, is_html=is_html)) < 4_000_000
        except ResultTooLong:
            continue


def _hostile(random: Random) -> bytes:
    value = random.choice(_HOSTILE)
    if random.randrange(2):
        value = mutate.edited(
            random, value.encode(errors="surrogatepass"), [one.encode(errors="replace") for one in _HOSTILE]
        ).decode(errors="replace")
    return f"{json.dumps(value)}\n{_HTML.make(random)}".encode()


def _another_value(random: Random, case: bytes, words: object, others: object) -> bytes:
    """Edit the value alone: the template is the project's own, and only says where a value stands."""
    return _hostile(random).partition(b"\n")[0] + b"\n" + case.partition(b"\n")[2]


def _check_hostile(case: bytes) -> None:
    text, _, template = case.decode().partition("\n")
    try:
        value = json.loads(text)
    except ValueError:
        return
    if not isinstance(value, str) or not value:
        return
    nodes = parse(template)
    values = {"Yes": "yes", "No": "", "Two": ["1", "2"], "Secret": "planted"}
    harmless, other = (_Outline(render(nodes, {**values, "V": one}, is_html=True)) for one in ("x", "zz"))
    if harmless.tags != other.tags:  # a value as the name of a tag or attribute: nothing is promised of that
        return
    html = render(nodes, {**values, "V": value}, is_html=True)
    found = _Outline(html)
    assert found.tags == harmless.tags, f"the value became markup: {html!r}"
    assert "planted" not in html
    for address in found.addresses:
        plain = "".join(
            sign for sign in address if sign.isprintable() and not sign.isspace() and sign != "\u00ad"
        ).lower()
        assert not plain.startswith(_SCHEMES), f"an address runs code: {html!r}"
    plain_text(html)


def test_any_template_renders_or_is_refused(budget: Budget) -> None:
    run(
        Target("templates", _any, _check_any, 4000, _ANY.words, guided_by=("workers/auth/delivery/gotext",)),
        budget,
    )


def test_a_hostile_value_stays_a_value_in_html(budget: Budget) -> None:
    run(
        Target(
            "template_values",
            _hostile,
            _check_hostile,
            2000,
            edit=_another_value,
        ),
        budget,
    )
