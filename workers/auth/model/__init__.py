"""The values of auth: rows, requests, errors and their codes."""
