"""The dashboard in a browser, on whole platforms."""
