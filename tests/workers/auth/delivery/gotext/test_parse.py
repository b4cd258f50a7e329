"""Reading of templates: what stands in the tree. Forms and refusals are in `test_render.py`."""

import pytest

from workers.auth.delivery.gotext.nodes import (
    FieldTerm,
    HtmlContext,
    IfNode,
    OutputNode,
    TemplateError,
    TemplatePipeline,
    TemplateText,
)
from workers.auth.delivery.gotext.parse import LONGEST, parse


def test_tree_of_a_condition() -> None:
    assert parse("{{ if .A }}x{{ else }}{{ .B }}{{ end }}") == (
        IfNode(
            TemplatePipeline((FieldTerm(None, ("A",)),)),
            (TemplateText("x"),),
            (OutputNode(TemplatePipeline((FieldTerm(None, ("B",)),)), HtmlContext.TEXT),),
        ),
    )


def test_template_that_is_too_long_is_refused() -> None:
    with pytest.raises(TemplateError, match="longer than"):
        parse("x" * (LONGEST + 1))
