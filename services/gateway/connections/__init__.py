"""Where connections come from: listeners, TLS and certificates, and how many connections there may be."""
