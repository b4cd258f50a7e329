"""What operations reach: sessions of the database, and the other pools by message."""
