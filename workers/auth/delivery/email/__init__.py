"""Letters to people: what they say, their way to a mail server, and the pages that their links open."""
