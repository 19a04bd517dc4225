"""The embedded simulator: behaves as Batsim 4.2, in process or in its place behind a socket.

Where what is:

- time, messages, decisions: ``engine``, with what it is asked for and leaves (``setting``), the
  first message (``begins``), external events (``external``)
- jobs: ``registry`` (which there are), ``profiles`` (what they do), ``execution`` (start and end),
  ``programs`` (those that are more than a duration), ``ended``
- what jobs run on: ``site``, ``machines`` (their states), ``power`` and ``energy``, ``ptask`` and
  ``fair_bottleneck`` (how they share hosts and links)
- platforms: ``platform``, ``network``; read by ``platform_reader``, ``network_reader`` and
  ``platform_values``; written by ``platform_xml``
- in Batsim's place: ``stand_in`` (from files), ``front`` (the socket), ``outputs`` (Batsim's files)
"""
