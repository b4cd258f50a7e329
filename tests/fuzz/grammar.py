"""Texts made from a grammar: rules with alternatives, expanded at random down to a bounded depth. Pure.

A grammar is a text of lines `name: alternative | alternative | ...`. In an alternative `«name»` stands for what its rule
makes, and everything else for itself; `\\n`, `\\r`, `\\s` (a blank at an end) and `\\|` are written with a backslash. An empty alternative makes nothing.
"""

import re
from collections.abc import Callable
from random import Random

_NAME = re.compile(r"«([a-z_]+)»")
_BAR = re.compile(r"(?<!\\)\|")
_DEEPEST = 12

Maker = Callable[[Random], str]


class Grammar:
    """Rules by name. `terminals` are rules that a function makes: numbers, random text."""

    def __init__(self, text: str, **terminals: Maker) -> None:
        self._rules: dict[str, list[list[str]]] = {}
        self._terminals = terminals
        for line in text.strip().splitlines():
            name, _, alternatives = line.partition(":")
            self._rules.setdefault(name.strip(), []).extend(
                _NAME.split(_plain(each)) for each in _BAR.split(alternatives)
            )
        self._least = self._depths()

    @property
    def words(self) -> list[bytes]:
        """Return the literal parts of the grammar: what an edit may put into a case."""
        parts = {part for rule in self._rules.values() for each in rule for part in each[::2]}
        return sorted(part.encode() for part in parts if part)

    def make(self, random: Random, name: str = "start", depth: int = 0) -> str:
        """Return a text of a rule. Past the greatest depth only the alternatives that end soonest are taken."""
        if name in self._terminals:
            return self._terminals[name](random)
        rule = self._rules[name]
        if depth >= _DEEPEST:
            least = min(self._cost(each) for each in rule)
            rule = [each for each in rule if self._cost(each) == least]
        parts = random.choice(rule)
        return "".join(
            self.make(random, part, depth + 1) if place % 2 else part for place, part in enumerate(parts)
        )

    def _cost(self, alternative: list[str]) -> int:
        return 1 + max((self._least.get(name, 99) for name in alternative[1::2]), default=0)

    def _depths(self) -> dict[str, int]:
        """Return how deep each rule goes at least. Raises: KeyError for a rule that is not there."""
        self._least = dict.fromkeys(self._terminals, 0)
        for _ in range(len(self._rules) + 1):
            for name, rule in self._rules.items():
                self._least[name] = min(self._cost(each) for each in rule)
        for rule in self._rules.values():
            for alternative in rule:
                for name in alternative[1::2]:
                    self._least[name]
        return self._least


def _plain(alternative: str) -> str:
    text = alternative.removeprefix(" ").removesuffix(" ")
    return text.replace("\\|", "|").replace("\\n", "\n").replace("\\r", "\r").replace("\\s", " ")
