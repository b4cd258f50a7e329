"""The pool `webhooks`: events sent to other services at least once, by one leader."""
