"""Template text -> nodes. Every error is found here, so that rendering an email never fails.

A list of pieces is read once; blocks (`if`, `with`, `range`) nest by recursion, at most `_DEEPEST` deep.
"""

import json

from workers.auth.delivery.gotext.functions import FUNCTIONS, SHORT_CIRCUIT
from workers.auth.delivery.gotext.html_context import HtmlTracker
from workers.auth.delivery.gotext.lex import TemplatePiece, TemplateToken, pieces_of
from workers.auth.delivery.gotext.nodes import (
    CallTerm,
    FieldTerm,
    HtmlContext,
    IfNode,
    LiteralTerm,
    NestedTerm,
    Node,
    OutputNode,
    RangeNode,
    TemplateError,
    TemplatePipeline,
    TemplateText,
    Term,
)

LONGEST = 1024 * 1024
"""Characters of the longest template."""

_DEEPEST = 50
_CONSTANTS = {"true": True, "false": False, "nil": None}
_BLOCKS = ("if", "with", "range")
_FOREIGN = ("define", "template", "block", "break", "continue")


def parse(template: str) -> tuple[Node, ...]:
    """Parse a template. Raises: TemplateError."""
    if len(template) > LONGEST:
        raise TemplateError(1, f"the template is longer than {LONGEST} characters")
    reader = _BlockReader(pieces_of(template))
    nodes, _ = reader.nodes(frozenset({""}), inside="")
    return nodes


class _BlockReader:
    """The pieces of a template, read from left to right."""

    def __init__(self, pieces: list[TemplatePiece]) -> None:
        self._pieces = iter(pieces)
        self._tracker = HtmlTracker()
        self._depth = 0

    def nodes(self, variables: frozenset[str], *, inside: str) -> tuple[tuple[Node, ...], "_ActionReader"]:
        """Parse up to the `end` or `else` of the block. Return its nodes, and the reader of the action that ended it."""
        nodes: list[Node] = []
        line = 1
        for piece in self._pieces:
            line = piece.line
            if piece.text:
                self._tracker.read(piece.text)
                nodes.append(TemplateText(piece.text))
            if piece.tokens is None:
                break
            words = _ActionReader(piece.tokens, piece.line)
            match words.peek_word():
                case "end" | "else" as ending:
                    if not inside:
                        raise TemplateError(piece.line, f"{{{{ {ending} }}}} belongs to no block")
                    return tuple(nodes), words
                case str(word) if word in _FOREIGN:
                    raise TemplateError(piece.line, f"{{{{ {word} }}}} is not supported")
                case str(word) if word in _BLOCKS:
                    words.take()
                    nodes.append(self._block(word, words, variables))
                case _ if piece.tokens:
                    pipe, variables = words.whole_pipe(variables)
                    nodes.append(OutputNode(pipe, self._place(pipe)))
        if inside:
            raise TemplateError(line, f"{{{{ {inside} }}}} is not closed by {{{{ end }}}}")
        return tuple(nodes), _ActionReader((), line)

    def _place(self, pipe: TemplatePipeline) -> HtmlContext:
        place = self._tracker.place()
        if not pipe.assigns:
            self._tracker.read("x")
        last = pipe.commands[-1]
        match (last.function if isinstance(last, CallTerm) else "", place):
            case ("urlquery", HtmlContext.QUERY):
                return HtmlContext.TEXT
            case ("html", HtmlContext.TEXT):
                return HtmlContext.ESCAPED
        return place

    def _block(self, kind: str, words: "_ActionReader", known: frozenset[str]) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TemplateError(words.line, f"blocks are nested more than {_DEEPEST} deep")
        pipe, within = words.whole_pipe(known, most_variables=2 if kind == "range" else 1)
        body, ending = self.nodes(within, inside=kind)
        otherwise = self._otherwise(ending, within, kind)
        self._depth -= 1
        if kind == "range":
            return RangeNode(pipe, body, otherwise)
        return IfNode(pipe, body, otherwise, binds_dot=kind == "with")

    def _otherwise(self, ending: "_ActionReader", known: frozenset[str], kind: str) -> tuple[Node, ...]:
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
            raise TemplateError(last.line, f"{{{{ {kind} }}}} has more than one {{{{ else }}}}")
        last.done()
        return nodes


class _ActionReader:
    """The tokens of one action, read from left to right."""

    def __init__(self, tokens: tuple[TemplateToken, ...], line: int) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self.line = line

    def peek_word(self) -> str | None:
        """Return the text of the next token if it is a word."""
        token = self._peek()
        return token.text if token is not None and token.kind == "word" else None

    def take(self) -> TemplateToken:
        """Consume the next token. Raises: TemplateError at the end of the action."""
        token = self._peek()
        if token is None:
            raise TemplateError(self.line, "an action ends too early")
        self._at += 1
        return token

    def done(self) -> None:
        """Check that no token is left. Raises: TemplateError."""
        token = self._peek()
        if token is not None:
            raise TemplateError(self.line, f"{token.text[:20]!r} is not expected there")

    def whole_pipe(
        self, known: frozenset[str], most_variables: int = 1
    ) -> tuple[TemplatePipeline, frozenset[str]]:
        """Parse a pipeline up to the end of the action. Return it with the variables that are declared behind it."""
        names, declares = self._assignment(known, most_variables)
        commands = self._commands(known)
        self.done()
        return TemplatePipeline(commands, names, declares), known | frozenset(names)

    def _peek(self, further: int = 0) -> TemplateToken | None:
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
                    raise TemplateError(self.line, f"the variable ${name} is not declared")
            if len(names) > most:
                raise TemplateError(self.line, "too many variables are declared")
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
                raise TemplateError(self.line, "only a function may stand behind |")
            if (token := self._peek()) is not None and token.kind not in ("close", "mark"):
                raise TemplateError(self.line, f"{token.text[:20]!r} is not expected there")
            return term
        self.take()
        arguments: list[Term] = []
        while (token := self._peek()) is not None and token.kind not in ("close", "mark"):
            arguments.append(self._term(known))
        self._check(word, len(arguments) + has_input)
        return CallTerm(word, tuple(arguments))

    def _check(self, function: str, count: int) -> None:
        if function in SHORT_CIRCUIT:
            least, most = 1, 32
        elif function in FUNCTIONS:
            _, least, most = FUNCTIONS[function]
        else:
            raise TemplateError(self.line, f"there is no function {function!r}")
        if not least <= count <= most:
            raise TemplateError(self.line, f"{function!r} does not take {count} arguments")

    def _term(self, known: frozenset[str]) -> Term:
        token = self.take()
        match token.kind:
            case "string":
                return LiteralTerm(self._string(token.text))
            case "raw":
                return LiteralTerm(token.text[1:-1])
            case "number":
                return LiteralTerm(self._number(token.text))
            case "field" | "dot":
                return FieldTerm(None, tuple(token.text.split(".")[1:]) if token.kind == "field" else ())
            case "variable":
                name, *names = token.text[1:].split(".")
                if name not in known:
                    raise TemplateError(self.line, f"the variable ${name} is not declared")
                return FieldTerm(name, tuple(names))
            case "open":
                return self._nested(known)
            case "word" if token.text in _CONSTANTS:
                return LiteralTerm(_CONSTANTS[token.text])
            case "word":
                self._check(token.text, 0)
                return CallTerm(token.text, ())
        raise TemplateError(self.line, f"{token.text[:20]!r} is not expected there")

    def _nested(self, known: frozenset[str]) -> Term:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise TemplateError(self.line, f"brackets are nested more than {_DEEPEST} deep")
        commands = self._commands(known)
        closing = self.take()
        if closing.kind != "close":
            raise TemplateError(self.line, f"{closing.text[:20]!r} is not expected there")
        self._depth -= 1
        return NestedTerm(TemplatePipeline(commands), tuple(closing.text.split(".")[1:]))

    def _string(self, quoted: str) -> str:
        try:
            return str(json.loads(quoted, strict=False))
        except ValueError:
            raise TemplateError(self.line, f"the text {quoted[:20]} cannot be read") from None

    def _number(self, text: str) -> int | float:
        try:
            return int(text) if text.lstrip("+-").isdecimal() and len(text) < 40 else float(text)
        except ValueError:
            raise TemplateError(self.line, f"the number {text[:20]} cannot be read") from None
