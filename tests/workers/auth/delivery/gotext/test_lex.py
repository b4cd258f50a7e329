"""Cutting of templates into pieces."""

from workers.auth.delivery.gotext.lex import pieces_of


def test_pieces_hold_the_text_before_an_action_and_its_tokens() -> None:
    first, last = pieces_of('Hello {{ if eq .Name "A b" }} you')

    assert first.text == "Hello "
    assert first.tokens is not None
    assert [(token.kind, token.text) for token in first.tokens] == [
        ("word", "if"),
        ("word", "eq"),
        ("field", ".Name"),
        ("string", '"A b"'),
    ]
    assert (last.text, last.tokens) == (" you", None)


def test_closing_signs_within_a_text_do_not_close_the_action() -> None:
    first, _ = pieces_of('{{ "}}" }}')

    assert first.tokens is not None
    assert first.tokens[0].text == '"}}"'


def test_lines_are_counted_across_actions() -> None:
    pieces = pieces_of("a\n{{ .B\n}}\n{{ .C }}")

    assert [piece.line for piece in pieces] == [2, 4, 4]
