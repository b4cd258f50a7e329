"""The OpenAPI descriptions of the REST interface: version 2 (PostgREST's) and 3.1."""
