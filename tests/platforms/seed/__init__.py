"""The interface document, walked in its order: what each of its sections says of requests and answers, asked over HTTP.

Its sections 1, 8 and 9 are held where their subjects are; the wire protocol of section 6, which it leaves open, by the
tests of the realtime edge. A module names the section it walks.
"""
