"""The pool of hosted functions: a Deno process for each, asked over a unix socket."""
