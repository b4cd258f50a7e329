"""Tests of the rows of a table: one test, of which every row that fails is reported with its values.

For tables of hundreds of rows that a pure function is tried with: as tests of their own each row would cost more by
its collection than by its work, in every process of a run.
"""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from broker.observability.observe import reset_repeats


def rows(names: str, values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test function for each row; `names` are its arguments, separated by commas, as for `pytest.mark.parametrize`."""
    arguments = [name.strip() for name in names.split(",")]
    table = list(values)
    assert table, "a test without a row tests nothing"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def run_rows(subtests: pytest.Subtests) -> None:
            for value in table:
                row = dict(zip(arguments, value if len(arguments) > 1 else (value,), strict=True))
                reset_repeats()
                try:
                    test(**row)
                except (Exception, pytest.fail.Exception) as error:  # a row that holds costs no report
                    with subtests.test(f"{row}"):
                        raise error

        run_rows.__name__, run_rows.__doc__, run_rows.__module__ = (
            test.__name__,
            inspect.getdoc(test),
            test.__module__,
        )
        return run_rows

    return decorate
