"""The pool `streams`: rows of tables and their changes, copied to other systems by one leader."""
