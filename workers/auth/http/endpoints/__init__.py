"""The endpoints of the accounts: each takes what all share and the request, and gives the answer or raises."""
