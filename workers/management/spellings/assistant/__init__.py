"""The assistant of the dashboard: a language model of the operator's choice, with the reading tools of `/mcp`."""
