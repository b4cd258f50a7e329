"""What only browsers do, in Chromium: CORS, cookies, caching, EventSource, WebSockets that break; and journeys of users."""
