"""How deep brackets lie inside brackets in a document: looked at before it is parsed, because the parser recurses. Pure."""

import re

_TEXTS = re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n\r]|\\.)*"|#[^\n\r]*', re.DOTALL)
_BRACKETS = re.compile(r"[{}\[\]()]+")
_OPENING = "{[("


def nesting(document: str) -> int:
    """Give the greatest number of brackets that are open at one place; strings and comments do not count."""
    depth = deepest = 0
    for run in _BRACKETS.findall(_TEXTS.sub("", document)):
        for sign in run:
            if sign in _OPENING:
                depth += 1
                if depth > deepest:
                    deepest = depth
            else:
                depth -= 1
    return deepest
