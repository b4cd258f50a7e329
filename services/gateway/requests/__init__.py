"""What a request of any area is: its route, caller and head; how it is passed to a pool, and how its body and response pass."""
