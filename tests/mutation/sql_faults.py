"""Faults that can be made in SQL, each in one place of its text."""

import re

from tests.mutation.python_faults import Fault

_DROPPED = re.compile(
    r"(?im)^[ \t]*(?:revoke|grant)\b[^;]*;|[ \t]+(?:for update|skip locked|security definer)\b"
)
_CONDITION = re.compile(r"(?im)^[ \t]*and [^\n;()]+$")
_OPERATOR = re.compile(r" (<=|>=|<>|<|>) ")
_OTHER = {"<=": "<", ">=": ">", "<>": "=", "<": "<=", ">": ">="}


def sql_faults(source: str) -> list[Fault]:
    """Return the faults of a file of SQL: dropped rights, locks and conditions, other boundaries."""
    code = re.sub(r"--[^\n]*", lambda comment: " " * len(comment[0]), source)
    return [
        *(Fault("dropped right or lock", *match.span(), "") for match in _DROPPED.finditer(code)),
        *(Fault("dropped condition", *match.span(), "") for match in _CONDITION.finditer(code)),
        *(Fault("comparison", *match.span(), f" {_OTHER[match[1]]} ") for match in _OPERATOR.finditer(code)),
    ]
