"""Single sign-on by SAML 2.0: reads and verifies what identity providers send. The only package that imports XML libraries."""
