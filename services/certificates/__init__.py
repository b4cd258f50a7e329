"""The gateway's certificate by ACME (RFC 8555): one edge orders and renews it, all edges use it and answer challenges.

holder.py          the loop of an edge: share, take the lease, order when it is time
schedule.py        when a certificate is due, and how long a failed order waits (pure)
orders.py          runs the process of an order
order_process.py   one order, in a process of its own that has the library loaded; in it also:
  authority.py         the library's client, errors in words, identifiers of certificates
  renewal_advice.py    the question when to renew (RFC 9773)
  dns_records.py       records of DNS-01: dns_hook.py by a program, dns_update.py by updates (RFC 2136)
report.py          what administrators see of it (pure)
shared.py          the bucket in JetStream through which edges share, sealed
folder.py          the files in the data folder, from which the gateway serves
challenges.py      what answers the authority: HTTP-01 and TLS-ALPN-01
"""
