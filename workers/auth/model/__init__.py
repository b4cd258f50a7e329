"""What every layer of auth needs: rows, requests, errors, claims, codes, redirect rules, rate limits, the context."""
