"""The hall: carries requests, replies and events over NATS. The only folder that imports its client."""
