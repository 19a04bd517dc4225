"""The embedded simulator: behaves as Batsim 4.2, in process or in its place behind a socket.

Most runs in one process need only ``direct``, which simulates jobs of known length without
messages. The kernel with messages, in the order in which it is best read:

- ``options``: the options of a simulation
- ``agenda``: timers, and the time now
- ``profiles``: what a job does while it runs
- ``jobs``: the jobs and profiles that there are, and which of them the scheduler may speak of
- ``machines``: which machines are free
- ``execution``: a job starts, ends, is rejected or killed
- ``applied_decisions``: what each decision of the scheduler does, at its time
- ``engine``: :class:`~batsched_py.simulator.engine.Simulator`: events of an instant, messages, the
  end
- ``simulation_begins``: the first message
- ``tasks``: jobs that are more than one fixed duration are ``stepwise_jobs``; in which order the
  parts of a profile come, and how they repeat, is in ``composed_profiles``; ``parallel_tasks``
  share hosts and links by rates that ``fair_bottleneck`` finds
- ``ended_jobs``: of many, most are packed as columns; ``outcome``: what a simulation leaves

Its options ask for more:

- ``external_events``: machines fail and come back
- ``energy``: what hosts consume
- ``power``: ``power_states`` that machines are switched to, and ``machine_states``, the times for
  which machines were idle, computing or asleep

In the place of Batsim 5, ``batsim5`` has the simulator, its ``decisions``, some of which are
``periodic``, and its ``machines``.

Around it:

- ``platform``: ``hosts`` and their ``network``; SimGrid's files are read by ``platform_reader`` (of
  ``attribute_values``, and ``network_reader``), and written by ``platform_writer``
- ``files``: ``input_files`` make a simulation; ``output_files`` are the tables that every one
  leaves, ``batsim_files`` all that Batsim writes
"""
