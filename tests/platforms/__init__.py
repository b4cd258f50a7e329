"""The whole house under faults and attacks."""
