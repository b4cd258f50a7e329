"""Single sign-on by SAML 2.0: what identity providers say, read and checked. The only door to the XML libraries."""
