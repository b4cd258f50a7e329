"""Reading of templates: what stands in the tree. Forms and refusals are in `test_render.py`."""

import pytest

from workers.auth.delivery.gotext.nodes import Field, If, Output, Pipe, Place, TemplateRefused, Text
from workers.auth.delivery.gotext.parse import LONGEST, parse


def test_tree_of_a_condition() -> None:
    assert parse("{{ if .A }}x{{ else }}{{ .B }}{{ end }}") == (
        If(
            Pipe((Field(None, ("A",)),)),
            (Text("x"),),
            (Output(Pipe((Field(None, ("B",)),)), Place.TEXT),),
        ),
    )


def test_template_that_is_too_long_is_refused() -> None:
    with pytest.raises(TemplateRefused, match="longer than"):
        parse("x" * (LONGEST + 1))
