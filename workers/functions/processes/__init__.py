"""The Deno processes of functions: started, reached over a unix socket, measured and stopped."""
