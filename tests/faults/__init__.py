"""The campaign of faults: `make faults MINUTES=10` (campaign.py), and a short form of it in the gate."""
