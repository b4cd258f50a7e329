"""What would have to be said in SQL to bring one database's schema to another's: `headwater db diff`."""
