"""The name of the server in the `Server` header of every response. Source: RFC 9110, 10.2.4."""

SERVER = "Headwater"
