"""What several ways of signing in share: PKCE, redirects and their allow list, captcha, the state of a flow."""
