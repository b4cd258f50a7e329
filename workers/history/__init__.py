"""The pool `history`: versions of rows with their causes, written from the stream of changes by one leader."""
