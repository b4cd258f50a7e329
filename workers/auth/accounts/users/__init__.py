"""Users, their identities and proven addresses in the database."""
