"""Step one: Request -> ApiRequest."""
