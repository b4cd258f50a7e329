"""Subscriptions: live queries and changes of tables, prepared and read for the subscription edge."""
