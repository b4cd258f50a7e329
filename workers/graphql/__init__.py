"""GraphQL over the schema: reflection, compilation to one statement a field, introspection."""
