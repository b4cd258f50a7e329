"""Delivery: letters and text messages of the accounts, from a template to a mail server or an SMS provider."""
