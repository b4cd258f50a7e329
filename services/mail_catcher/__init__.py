"""The mail catcher of development: receives every email by SMTP and shows it on a page instead of sending it."""
