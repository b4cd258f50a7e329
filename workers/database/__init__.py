"""The only folder that imports the Postgres driver."""
