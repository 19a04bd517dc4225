"""The waiting queue and its orders.

:mod:`waiting_queue` is what policies see, :mod:`sorted_jobs` the tree behind its rankings,
:mod:`job_arrays` the jobs as numpy arrays, and :mod:`orders` the orders by name.
"""

from batsched_py.model.queue.waiting_queue import Key, Ranking, WaitingQueue, by_submission

__all__ = ["Key", "Ranking", "WaitingQueue", "by_submission"]
