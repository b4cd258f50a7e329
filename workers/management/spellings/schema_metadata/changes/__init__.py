"""The statements of changes: an object as it is and a body -> statements, one module a kind of object. Pure."""
