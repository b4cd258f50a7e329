"""The gateway's certificate by ACME (RFC 8555): one edge orders and renews it, all edges use it and answer challenges.

holder.py          the loop of an edge: share, take the lease, order when it is time
schedule.py        when a certificate is due, and how long a failed order waits (pure)
order_process.py   one order, in a process of its own that has the library loaded
orders.py          runs that process
shared.py          the bucket in JetStream through which edges share, sealed
folder.py          the files in the data folder, from which the gateway serves
challenges.py      what answers the authority: HTTP-01 and TLS-ALPN-01
"""
