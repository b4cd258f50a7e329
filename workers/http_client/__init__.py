"""Requests to other services, and which addresses they may reach."""
