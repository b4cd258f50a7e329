"""Questions as text, for the tests of introspection."""

from graphql import parse
from graphql.language import FragmentDefinitionNode, OperationDefinitionNode

from workers.graphql.introspection.selection import Asking, selected


def asked(text, variables=None):
    """Give the fields of the only root field, fragments and variables, as introspection takes them."""
    document = parse(text, no_location=True)
    fragments = {
        node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
    }
    operation = next(node for node in document.definitions if isinstance(node, OperationDefinitionNode))
    given = variables or {}
    fields = selected((operation.selection_set,), "Query", Asking(fragments, given))
    return next(iter(fields.values())), fragments, given
