"""What a function imports: read from its sources, mapped to addresses that can be reached, fetched before it starts."""
