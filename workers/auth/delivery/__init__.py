"""Delivery: emails and text messages of auth, from a template to a mail server or an SMS provider; hooks."""
