"""Introspection queries as text, parsed for the tests of introspection."""

from graphql import parse
from graphql.language import FragmentDefinitionNode, OperationDefinitionNode

from workers.graphql.introspection.selection import SelectionContext, collect_fields


def parse_query(text, variables=None):
    """Return the nodes of the only root field, the fragments and the variables, as arguments for `answer`."""
    document = parse(text, no_location=True)
    fragments = {
        node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
    }
    operation = next(node for node in document.definitions if isinstance(node, OperationDefinitionNode))
    values = variables or {}
    fields = collect_fields((operation.selection_set,), "Query", SelectionContext(fragments, values))
    return next(iter(fields.values())), fragments, values
