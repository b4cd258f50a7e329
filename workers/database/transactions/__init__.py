"""One transaction on one connection: settings, statements, commit or rollback."""
