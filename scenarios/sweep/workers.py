"""Who evaluates the batches: this process, processes of this machine, or a Dask cluster. The code is the same.

A batch is a function of the plan and its number alone, so it does not matter who evaluates it, or how often.
"""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import ScenarioError
from .evaluate import Session
from .plan import Plan
from .tables import Part

_AHEAD = 3  # batches that wait for each worker, so that none idles and few are lost
_RETRIES = 3
_CONNECT = "10s"
_WATCH = 0.5  # seconds
_session: tuple[bytes, Session] | None = None


def evaluate_batch(plan: bytes, number: int) -> Part:
    """One batch of a pickled plan, ready for the disk; the process keeps what it learnt for the next one."""
    global _session  # noqa: PLW0603
    if _session is None or _session[0] != plan:
        _session = plan, Session(pickle.loads(plan))
    return Part.of(_session[1].batch(number))


def evaluated(
    plan: Plan, todo: Iterable[int], workers: int = 1, scheduler: str | None = None
) -> Iterator[tuple[int, Part]]:
    """(number, results) of the batches in `todo`, in the order in which they are finished."""
    if scheduler is not None:
        return _on_cluster(plan, list(todo), scheduler)
    if workers > 1:
        return _on_processes(plan, list(todo), workers)
    session = Session(plan)
    return ((number, Part.of(session.batch(number))) for number in todo)


def _on_processes(plan: Plan, todo: list[int], workers: int) -> Iterator[tuple[int, Part]]:
    """Batches on processes of this machine; those of a process that dies are done again by new ones.

    Where a batch takes a moment only, this process is one of the workers: it has loaded everything already, and would
    otherwise take a core from them to wait. Where the engine runs, it waits and makes each batch durable at once.
    """
    from concurrent.futures import FIRST_COMPLETED, Future, wait
    from concurrent.futures.process import BrokenProcessPool

    # Unlike those of the standard library, its workers do not run the caller's script again, guarded or not.
    from loky import ProcessPoolExecutor

    packed = pickle.dumps(plan)
    here = None if plan.totals else Session(plan)
    own = int(here is not None)
    others = workers - own
    left, deaths = list(todo), 0
    while left:
        pool = ProcessPoolExecutor(others, initializer=_end_with, initargs=(os.getpid(),))
        waiting: dict[Future[Any], int] = {}
        queue = deque(left)
        try:
            while queue or waiting:
                while len(waiting) < others * min(_AHEAD, len(queue) - own):  # all end at about the same time
                    number = queue.popleft()
                    waiting[pool.submit(evaluate_batch, packed, number)] = number
                done = wait(waiting, timeout=0 if here else None, return_when=FIRST_COMPLETED).done
                for future in done:
                    number = waiting.pop(future)
                    result = future.result()
                    left.remove(number)
                    yield number, result
                if here is None or done:
                    continue
                if not queue:
                    wait(waiting, return_when=FIRST_COMPLETED)
                    continue
                number = queue.popleft()
                left.remove(number)
                yield number, Part.of(here.batch(number))
        except BrokenProcessPool:
            deaths += 1
            if deaths > _RETRIES:
                raise ScenarioError(
                    f"worker processes died {deaths} times (out of memory?); finished batches are safe: --resume, "
                    "perhaps with fewer --workers"
                ) from None
        finally:
            for future in waiting:
                future.cancel()
            pool.shutdown(wait=False)


def _end_with(parent: int) -> None:
    """Ends this worker soon after its parent has gone, however that ended; otherwise it would wait for ever."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _on_cluster(plan: Plan, todo: list[int], scheduler: str) -> Iterator[tuple[int, Part]]:
    """Batches on a Dask cluster; the scheduler does the batches of a lost worker again."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise ScenarioError("--scheduler needs Dask distributed: pip install 'bankbench[cluster]'") from None
    packed = pickle.dumps(plan)
    try:
        client = Client(scheduler, timeout=_CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        raise ScenarioError(f"--scheduler {scheduler}: no scheduler answers ({error})") from None
    with client:
        shared = client.scatter(packed, broadcast=True, hash=False)
        queue = list(todo)
        number_of: dict[Any, int] = {}

        def submit() -> Any:
            number = queue.pop(0)
            future = client.submit(evaluate_batch, shared, number, pure=False, retries=_RETRIES)
            number_of[future.key] = number
            return future

        threads: Any = client.nthreads()
        threads = max(sum(threads.values()), 1)
        first = [submit() for _ in range(min(len(queue), _AHEAD * threads))]
        running = as_completed(first)
        for future in running:
            if queue:
                running.add(submit())
            yield number_of.pop(future.key), future.result()
