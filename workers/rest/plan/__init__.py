"""Step two: ApiRequest + catalog -> Plan."""
