"""The mail catcher of development: takes every letter by SMTP, and shows it on a page instead of sending it."""
