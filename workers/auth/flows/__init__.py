"""Steps that several endpoints share: sign-up, sign-in with a provider, linking, confirmation, address changes, captcha."""
