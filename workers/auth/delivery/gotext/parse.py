"""Template text -> nodes. Whatever cannot be understood is refused here, so that writing a letter never fails.

A list of pieces is read once; blocks (`if`, `with`, `range`) nest by recursion, at most `_DEEPEST` deep.
"""

import json

from workers.auth.delivery.gotext.functions import FUNCTIONS, SHORT_CIRCUIT
from workers.auth.delivery.gotext.lex import Piece, Token, pieces_of
from workers.auth.delivery.gotext.nodes import (
    Call,
    Field,
    If,
    Literal,
    Nested,
    Node,
    Output,
    Pipe,
    Place,
    Range,
    TemplateRefused,
    Term,
    Text,
)
from workers.auth.delivery.gotext.places import Tracker

LONGEST = 1024 * 1024
"""Characters of the longest template."""

_DEEPEST = 50
_CONSTANTS = {"true": True, "false": False, "nil": None}
_BLOCKS = ("if", "with", "range")
_FOREIGN = ("define", "template", "block", "break", "continue")


def parse(template: str) -> tuple[Node, ...]:
    """Read a template. Raises: TemplateRefused."""
    if len(template) > LONGEST:
        raise TemplateRefused(1, f"the template is longer than {LONGEST} characters")
    reader = _Blocks(pieces_of(template))
    nodes, _ = reader.nodes(frozenset({""}), inside="")
    return nodes


class _Blocks:
    """The pieces of a template, read from left to right."""

    def __init__(self, pieces: list[Piece]) -> None:
        self._pieces = iter(pieces)
        self._tracker = Tracker()
        self._depth = 0

    def nodes(self, known: frozenset[str], *, inside: str) -> tuple[tuple[Node, ...], "_Words"]:
        """Read to the `end` or `else` of the block: its nodes, and the words of what ended it."""
        nodes: list[Node] = []
        line = 1
        for piece in self._pieces:
            line = piece.line
            if piece.text:
                self._tracker.read(piece.text)
                nodes.append(Text(piece.text))
            if piece.tokens is None:
                break
            words = _Words(piece.tokens, piece.line)
            match words.peek_word():
                case "end" | "else" as ending:
                    if not inside:
                        raise TemplateRefused(piece.line, f"{{{{ {ending} }}}} belongs to no block")
                    return tuple(nodes), words
                case str(word) if word in _FOREIGN:
                    raise TemplateRefused(piece.line, f"{{{{ {word} }}}} is not supported")
                case str(word) if word in _BLOCKS:
                    words.take()
                    nodes.append(self._block(word, words, known))
                case _ if piece.tokens:
                    pipe, known = words.whole_pipe(known)
                    nodes.append(Output(pipe, self._place(pipe)))
        if inside:
            raise TemplateRefused(line, f"{{{{ {inside} }}}} is not closed by {{{{ end }}}}")
        return tuple(nodes), _Words((), line)

    def _place(self, pipe: Pipe) -> Place:
        place = self._tracker.place()
        if not pipe.assigns:
            self._tracker.read("x")
        last = pipe.commands[-1]
        match (last.function if isinstance(last, Call) else "", place):
            case ("urlquery", Place.QUERY):
                return Place.TEXT
            case ("html", Place.TEXT):
                return Place.ESCAPED
        return place

    def _block(self, kind: str, words: "_Words", known: frozenset[str]) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TemplateRefused(words.line, f"blocks are nested more than {_DEEPEST} deep")
        pipe, within = words.whole_pipe(known, most_variables=2 if kind == "range" else 1)
        body, ending = self.nodes(within, inside=kind)
        otherwise = self._otherwise(ending, within, kind)
        self._depth -= 1
        if kind == "range":
            return Range(pipe, body, otherwise)
        return If(pipe, body, otherwise, binds_dot=kind == "with")

    def _otherwise(self, ending: "_Words", known: frozenset[str], kind: str) -> tuple[Node, ...]:
        if ending.take().text == "end":
            ending.done()
            return ()
        chained = ending.peek_word()
        if chained in ("if", "with") and kind == chained:
            ending.take()
            return (self._block(chained, ending, known),)
        ending.done()
        nodes, last = self.nodes(known, inside=kind)
        if last.take().text != "end":
            raise TemplateRefused(last.line, f"{{{{ {kind} }}}} has more than one {{{{ else }}}}")
        last.done()
        return nodes


class _Words:
    """The tokens of one action, read from left to right."""

    def __init__(self, tokens: tuple[Token, ...], line: int) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self.line = line

    def peek_word(self) -> str | None:
        """Give the next token if it is a word."""
        token = self._peek()
        return token.text if token is not None and token.kind == "word" else None

    def take(self) -> Token:
        """Go over the next token. Raises: TemplateRefused if there is none."""
        token = self._peek()
        if token is None:
            raise TemplateRefused(self.line, "an action ends too early")
        self._at += 1
        return token

    def done(self) -> None:
        """Raises: TemplateRefused if there is more in the action."""
        token = self._peek()
        if token is not None:
            raise TemplateRefused(self.line, f"{token.text[:20]!r} is not expected there")

    def whole_pipe(self, known: frozenset[str], most_variables: int = 1) -> tuple[Pipe, frozenset[str]]:
        """Read a pipe to the end of the action, and give the variables known behind it."""
        names, declares = self._assignment(known, most_variables)
        commands = self._commands(known)
        self.done()
        return Pipe(commands, names, declares), known | frozenset(names)

    def _peek(self, further: int = 0) -> Token | None:
        at = self._at + further
        return self._tokens[at] if at < len(self._tokens) else None

    def _assignment(self, known: frozenset[str], most: int) -> tuple[tuple[str, ...], bool]:
        names: list[str] = []
        at = 0
        while (token := self._peek(at)) is not None and token.kind == "variable" and "." not in token.text:
            names.append(token.text[1:])
            mark = self._peek(at + 1)
            at += 2
            if mark is None or mark.kind != "mark" or mark.text == "|":
                return (), False
            if mark.text == ",":
                continue
            for name in names:
                if not name or (mark.text == "=" and name not in known):
                    raise TemplateRefused(self.line, f"the variable ${name} is not declared")
            if len(names) > most:
                raise TemplateRefused(self.line, "too many variables are declared")
            self._at += at
            return tuple(names), mark.text == ":="
        return (), False

    def _commands(self, known: frozenset[str]) -> tuple[Term, ...]:
        commands = [self._command(known, has_input=False)]
        while (token := self._peek()) is not None and token.text == "|" and token.kind == "mark":
            self.take()
            commands.append(self._command(known, has_input=True))
        return tuple(commands)

    def _command(self, known: frozenset[str], *, has_input: bool) -> Term:
        word = self.peek_word()
        if word is None or word in _CONSTANTS:
            term = self._term(known)
            if has_input:
                raise TemplateRefused(self.line, "only a function may stand behind |")
            if (token := self._peek()) is not None and token.kind not in ("close", "mark"):
                raise TemplateRefused(self.line, f"{token.text[:20]!r} is not expected there")
            return term
        self.take()
        arguments: list[Term] = []
        while (token := self._peek()) is not None and token.kind not in ("close", "mark"):
            arguments.append(self._term(known))
        self._check(word, len(arguments) + has_input)
        return Call(word, tuple(arguments))

    def _check(self, function: str, count: int) -> None:
        if function in SHORT_CIRCUIT:
            least, most = 1, 32
        elif function in FUNCTIONS:
            _, least, most = FUNCTIONS[function]
        else:
            raise TemplateRefused(self.line, f"there is no function {function!r}")
        if not least <= count <= most:
            raise TemplateRefused(self.line, f"{function!r} does not take {count} arguments")

    def _term(self, known: frozenset[str]) -> Term:
        token = self.take()
        match token.kind:
            case "string":
                return Literal(self._string(token.text))
            case "raw":
                return Literal(token.text[1:-1])
            case "number":
                return Literal(self._number(token.text))
            case "field" | "dot":
                return Field(None, tuple(token.text.split(".")[1:]) if token.kind == "field" else ())
            case "variable":
                name, *names = token.text[1:].split(".")
                if name not in known:
                    raise TemplateRefused(self.line, f"the variable ${name} is not declared")
                return Field(name, tuple(names))
            case "open":
                return self._nested(known)
            case "word" if token.text in _CONSTANTS:
                return Literal(_CONSTANTS[token.text])
            case "word":
                self._check(token.text, 0)
                return Call(token.text, ())
        raise TemplateRefused(self.line, f"{token.text[:20]!r} is not expected there")

    def _nested(self, known: frozenset[str]) -> Term:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TemplateRefused(self.line, f"brackets are nested more than {_DEEPEST} deep")
        commands = self._commands(known)
        closing = self.take()
        if closing.kind != "close":
            raise TemplateRefused(self.line, f"{closing.text[:20]!r} is not expected there")
        self._depth -= 1
        return Nested(Pipe(commands), tuple(closing.text.split(".")[1:]))

    def _string(self, quoted: str) -> str:
        try:
            return str(json.loads(quoted, strict=False))
        except ValueError:
            raise TemplateRefused(self.line, f"the text {quoted[:20]} cannot be read") from None

    def _number(self, text: str) -> int | float:
        try:
            return int(text) if text.lstrip("+-").isdecimal() and len(text) < 40 else float(text)
        except ValueError:
            raise TemplateRefused(self.line, f"the number {text[:20]} cannot be read") from None
