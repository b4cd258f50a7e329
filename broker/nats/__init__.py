"""The NATS client protocol of the hot path: one TCP connection that reconnects and moves between servers of a cluster.

Rule: two NATS clients are used, each for the jobs that it alone does.

- This package (`broker/nats`) carries core NATS: requests and replies, bodies in chunks, events, realtime broadcasts.
  On it stand the ordered publisher and reader of JetStream (`broker/jetstream/ordered_publisher.py`,
  `ordered_reader.py`) and the administration of streams (`broker/jetstream/streams.py`). Reason: CPU. A request over
  one hop costs 27 to 31 us here and 37 to 39 us in nats-py; an ordered message costs 7 us here and 22 us with
  `publish_async` of nats-py. A request as a whole costs about 250 us. In addition a process that only uses this
  package does not load nats-py's HTTP client (10 MB).
- The library nats-py (`broker/jetstream/nats_py.py`) carries durable work: publishing with an acknowledgement, and
  durable consumers with acknowledgement, redelivery and in-progress signs (`broker/jetstream/durable_consumer.py`).
  That work waits for a disk, so 10 us more do not matter, and the library's pull consumer is code that this project
  need not own.

No job has two implementations: a stream is created, changed, deleted and inspected by `broker/jetstream/streams.py`
only.
"""
