"""The template language as emails use it: forms, functions, scopes, bounds."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workers.auth.delivery.gotext.nodes import TemplateError
from workers.auth.delivery.gotext.parse import parse
from workers.auth.delivery.gotext.render import ResultTooLong, render

VALUES = {
    "Token": "123456",
    "Email": "ann@example.org",
    "Empty": "",
    "Count": 3,
    "Price": 2.5,
    "Yes": True,
    "Nothing": None,
    "Data": {
        "name": "Ann",
        "n": 1,
        "whole": 2.0,
        "tags": ["a", "b"],
        "map": {"y": 2, "x": 1},
        "deep": {"er": "!"},
    },
}

FORMS = [
    ("plain text", "plain text"),
    ("{{ .Token }}", "123456"),
    ("{{.Token}}", "123456"),
    ("a {{- .Token -}} b", "a123456b"),
    ("a {{- /* a note */ -}} b", "ab"),
    ("a{{/* a }} note */}}b", "ab"),
    ("{{ .Unknown }}{{ .Unknown.Field.More }}", ""),
    ("{{ .Email.Field }}", ""),
    ("{{ .Data.name }} {{ .Data.n }} {{ .Data.whole }} {{ .Price }}", "Ann 1 2 2.5"),
    ("{{ .Yes }} {{ .Nothing }}", "true "),
    ("{{ .Data.tags }} {{ .Data.map }}", "[a b] map[x:1 y:2]"),
    ("{{ $.Data.name }}", "Ann"),
    ("{{ if .Token }}yes{{ end }}", "yes"),
    ("{{ if .Empty }}yes{{ else }}no{{ end }}", "no"),
    ("{{ if .Empty }}1{{ else if .Nothing }}2{{ else if .Yes }}3{{ else }}4{{ end }}", "3"),
    ("{{ if not .Empty }}x{{ end }}", "x"),
    ("{{ if and .Token .Empty }}x{{ else }}y{{ end }}", "y"),
    ("{{ or .Empty .Email }}", "ann@example.org"),
    ('{{ if eq .Data.name "Ann" }}x{{ end }}', "x"),
    ('{{ if eq .Data.name "Bob" "Ann" }}x{{ end }}', "x"),
    ("{{ if eq .Data.n 1 }}x{{ end }}", "x"),
    ("{{ if eq .Yes 1 }}x{{ else }}y{{ end }}", "y"),
    ('{{ if eq .Nothing "" }}x{{ else }}y{{ end }}', "y"),
    ("{{ if eq .Data .Data }}x{{ else }}y{{ end }}", "y"),
    ('{{ if ne .Data.name "Bob" }}x{{ end }}', "x"),
    ("{{ if and (gt .Count 2) (le .Count 3) (lt .Count 4) (ge .Count 3) }}x{{ end }}", "x"),
    ('{{ if lt .Count "a" }}x{{ else }}y{{ end }}', "y"),
    ("{{ range .Data.tags }}<{{ . }}>{{ end }}", "<a><b>"),
    ("{{ range $i, $tag := .Data.tags }}{{ $i }}{{ $tag }} {{ end }}", "0a 1b "),
    ("{{ range $tag := .Data.tags }}{{ $tag }}{{ end }}", "ab"),
    ("{{ range $key, $value := .Data.map }}{{ $key }}={{ $value }};{{ end }}", "x=1;y=2;"),
    ("{{ range .Empty }}x{{ else }}none{{ end }}", "none"),
    ("{{ range .Data.tags }}{{ $.Token }}{{ end }}", "123456123456"),
    ("{{ range 3 }}{{ . }}{{ end }}", "012"),
    ("{{ with .Data.deep }}{{ .er }}{{ end }}", "!"),
    ("{{ with .Empty }}x{{ else }}{{ .Token }}{{ end }}", "123456"),
    ("{{ with $d := .Data }}{{ $d.name }}{{ end }}", "Ann"),
    ('{{ $x := "a" }}{{ if .Yes }}{{ $x = "b" }}{{ end }}{{ $x }}', "b"),
    ('{{ $x := "a" }}{{ if .Yes }}{{ $x := "b" }}{{ $x }}{{ end }}{{ $x }}', "ba"),
    ('{{ "quoted \\"text\\" \\u00e4" }}', 'quoted "text" ä'),
    ("{{ `raw \\n` }}", "raw \\n"),
    ("{{ true }} {{ nil }} {{ -1.5 }}", "true  -1.5"),
    ("{{ len .Data.tags }} {{ len .Token }} {{ len .Nothing }}", "2 6 0"),
    ('{{ index .Data.tags 1 }}{{ index .Data "name" }}{{ index .Data.tags 9 }}', "bAnn"),
    ('{{ printf "%s-%05d-%.1f-%q-%v%%" .Data.name 42 .Price "a" .Yes }}', 'Ann-00042-2.5-"a"-true%'),
    ('{{ printf "%d %s" }}', " "),
    ('{{ print "a" 1 2 "b" }}', "a1 2b"),
    ("{{ println .Token }}", "123456\n"),
    ("{{ .Email | printf `<%s>` | len }}", "17"),
    ("{{ (index .Data.tags 0) }}{{ (.Data).name }}", "aAnn"),
    ("{{ urlquery .Email }}", "ann%40example.org"),
    ('{{ html "<a>" }}', "&lt;a&gt;"),
    ("{{\n .Token\n}}", "123456"),
]


@pytest.mark.parametrize(("template", "expected"), FORMS)
def test_form_is_written(template: str, expected: str) -> None:
    assert render(parse(template), VALUES, is_html=False) == expected


BROKEN = [
    ("{{ .Token ", "never closed"),
    ("{{ if .Token }}x", "not closed by {{ end }}"),
    ("{{ end }}", "belongs to no block"),
    ("{{ else }}", "belongs to no block"),
    ("{{ if .A }}{{ else }}{{ else }}{{ end }}", "more than one {{ else }}"),
    ("{{ if }}x{{ end }}", "ends too early"),
    ("{{ nonsense .Token }}", "no function 'nonsense'"),
    ("{{ eq .Token }}", "does not take 1 arguments"),
    ("{{ $x }}", "$x is not declared"),
    ("{{ $x = 1 }}", "$x is not declared"),
    ("{{ if $x := .A }}{{ end }}{{ $x }}", "$x is not declared"),
    ("{{ $a, $b := .A }}", "too many variables"),
    ("{{ .A .B }}", "is not expected"),
    ("{{ .A | .B }}", "only a function"),
    ("{{ (.A }}", "too early"),
    ("{{ .A) }}", "not expected"),
    ("{{ ! }}", "'!' is not understood"),
    ('{{ "\\q" }}', "cannot be read"),
    ("{{ 1.2.3 }}", "cannot be read"),
    ("{{ .A.B.1 }}", "blank missing"),
    ('{{ template "x" }}', "not supported"),
    ("{{ range .A }}{{ break }}{{ end }}", "not supported"),
    ("{{ if .A }}" * 60 + "{{ end }}" * 60, "nested more than"),
    ("{{ " + "(" * 60 + ".A" + ")" * 60 + " }}", "nested more than"),
]


@pytest.mark.parametrize(("template", "reason"), BROKEN)
def test_broken_template_is_refused_in_words(template: str, reason: str) -> None:
    with pytest.raises(TemplateError, match=r"^line \d+: ") as caught:
        parse(template)

    assert reason in str(caught.value)


def test_refusal_names_the_line() -> None:
    with pytest.raises(TemplateError) as caught:
        parse("one\n{{ .A }}\n{{ $\n }}\n{{ .B\n}} {{ oops }}")

    assert caught.value.line == 6


HTML = [
    ("{{ .V }}", "<b>&\"'", "&lt;b&gt;&amp;&quot;&#x27;"),
    ('<a title="{{ .V }}">', '" onclick="x', '<a title="&quot; onclick=&quot;x">'),
    ("<a title={{ .V }}>", "x onclick=y", "<a title=x&#32;onclick&#61;y>"),
    ('<a href="{{ .V }}">', "https://a.example/?x=1&y=2", '<a href="https://a.example/?x=1&amp;y=2">'),
    ('<a href="{{ .V }}">', "javascript:alert(1)", '<a href="#blocked">'),
    ("<a href={{ .V }}>", "https://a?b=c d", "<a href=https://a?b&#61;c&#32;d>"),
    ("<a href={{ .V }}>", " Java\tScript:alert(1)", "<a href=#blocked>"),
    ('<a href="{{ $x := .V }}{{ .Empty }}{{ if .Empty }}https://a/{{ end }}{{ $x }}">', "javascript:x", '<a href="#blocked">'),
    ("<img src='{{ .V }}'>", "data:text/html,x", "<img src='#blocked'>"),
    ('<a href="{{ .V }}">', "myapp://open", '<a href="myapp://open">'),
    ('<a href="https://a.example/?next={{ .V }}">', "https://b/?c=d&e", '<a href="https://a.example/?next=https%3A%2F%2Fb%2F%3Fc%3Dd%26e">'),
    ('<a href="{{ "https://a" }}/c?t={{ .V }}&type=email">', "a&type=x", '<a href="https://a/c?t=a%26type%3Dx&type=email">'),
    ('<a href="/?next={{ .V | urlquery }}">', "a b", '<a href="/?next=a+b">'),
    ('<a href="/{{ .V }}">', "a<b", '<a href="/a&lt;b">'),
    ('<a href="/x">{{ .V }}</a>', "a?b", '<a href="/x">a?b</a>'),
    ("{{ .V | html }}", "<b>", "&lt;b&gt;"),
    ("{{ range .List }}{{ . }}{{ end }}", "", "&lt;i&gt;"),
]  # fmt: skip


@pytest.mark.parametrize(("template", "value", "expected"), HTML)
def test_value_stays_a_value_in_html(template: str, value: str, expected: str) -> None:
    assert render(parse(template), {"V": value, "List": ["<i>"]}, is_html=True) == expected


@pytest.mark.parametrize(
    "template",
    [
        "{{ range .L }}{{ range $.L }}{{ range $.L }}{{ range $.L }}x{{ end }}{{ end }}{{ end }}{{ end }}",
        '{{ $x := "aa" }}{{ range 100 }}{{ $x = print $x $x }}{{ end }}',
        "{{ range 1000000000 }}{{ end }}",
    ],
)
def test_email_without_bounds_is_given_up(template: str) -> None:
    with pytest.raises(ResultTooLong):
        render(parse(template), {"L": list(range(100))}, is_html=False)


PIECES = st.sampled_from(
    [
        "{{",
        "}}",
        "{{-",
        "-}}",
        "if",
        "else",
        "end",
        "range",
        "with",
        "eq",
        "ne",
        "not",
        "and",
        "or",
        "len",
        "index",
        "print",
        "printf",
        "$",
        "$x",
        ":=",
        "=",
        ".",
        ".A",
        ".Data.b",
        "(",
        ")",
        "|",
        ",",
        '"',
        "`",
        "1",
        "-2.5",
        "/*",
        "*/",
        "true",
        "nil",
        "urlquery",
        "html",
        "<a",
        'href="',
        "'",
        ">",
        "?",
        "&",
        "é",
        "\n",
        "\\",
        "x",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(PIECES, max_size=30).map(" ".join), JSON, st.booleans())
@example("{{ range $ }}{{ . }}{{ end }}", {"a": {"b": [1]}}, False)
@example('{{ printf "%999d%.99f" .A 1e308 }}', 1, True)
def test_any_text_renders_or_is_refused(template: str, data: object, is_html: bool) -> None:
    try:
        nodes = parse(template)
    except TemplateError:
        return

    assert isinstance(render(nodes, {"A": data, "Data": {"b": data}}, is_html=is_html), str)


@given(st.text(), st.booleans())
def test_text_without_actions_is_itself(text: str, is_html: bool) -> None:
    if "{{" not in text:
        assert render(parse(text), {}, is_html=is_html) == text


@given(st.text())
def test_value_never_opens_a_tag_or_leaves_its_quotes(value: str) -> None:
    written = render(
        parse('<a title="{{ .V }}" href="{{ .V }}" id={{ .V }}>{{ .V }}</a>'), {"V": value}, is_html=True
    )

    assert written.count("<") == 2
    assert written.count(">") == 2
    assert written.count('"') == 4
