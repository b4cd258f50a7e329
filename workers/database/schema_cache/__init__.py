"""The schema cache: relations, keys, relationships and functions of the exposed schemas, read from the system catalogs."""
