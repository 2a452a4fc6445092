"""Crew: blocks of work shared out among threads that each compute alone.

Parallel loops inside every operation (what torch does by itself) meet at a barrier each time; on a machine whose
cores are also wanted by something else, such as the window, a barrier waits for a whole time slice: 8 ms for an
operation of 50 µs, measured. Whole blocks on single-threaded workers meet once, at the end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Protocol, TypeVar

import torch
from torch import Tensor

Item = TypeVar("Item")

# A request to stop is seen this soon even when blocks are slow.
POLL_S = 0.02


# What torch found when the program began; later a thread may know of one only, see `alone`.
THREADS = torch.get_num_threads()


class CancelLike(Protocol):
    """What can stop long work and hear how far it is; `check` raises when the work is no longer wanted."""

    def check(self) -> None: ...
    def progress(self, fraction: float) -> None: ...


class Silent:
    """Nobody waits, nobody stops."""

    def check(self) -> None:
        """Go on."""

    def progress(self, fraction: float) -> None:
        """Tell nobody."""


@contextmanager
def alone() -> Iterator[None]:
    """Compute without torch's own parallel loops in this thread meanwhile; also a decorator.

    For many small operations between the runs of a crew: the loops' threads keep a core busy while they wait, and
    each of their barriers waits for whatever has that core (6 ms instead of 50 µs, measured).
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class Crew:
    """Worker threads for one field; on anything but a CPU the caller works alone, as the device is parallel.

    Any thread may call `run`; a second caller waits for the first. The threads end with the object.
    """

    def __init__(self, device: torch.device, threads: int | None = None) -> None:
        self.size = (threads or THREADS) if device.type == "cpu" else 1
        self.device = device
        self._pool: ThreadPoolExecutor | None = None
        self._own = threading.local()
        self._busy = threading.Lock()

    def run(
        self,
        job: Callable[[Item], None],
        items: Sequence[Item],
        cancel: CancelLike | None = None,
        share: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        """Do `job` for every item, and report progress from share[0] to share[1].

        Raises:
            Whatever a job or `cancel.check` raises; no job still runs by then.
        """
        if not items:
            return
        cancel = cancel or Silent()
        if self.device.type != "cpu":
            for done, item in enumerate(items, 1):
                cancel.check()
                job(item)
                cancel.progress(share[0] + (share[1] - share[0]) * done / len(items))
            return
        with self._busy:
            self._spread(job, items, cancel, share)

    def _spread(
        self,
        job: Callable[[Item], None],
        items: Sequence[Item],
        cancel: CancelLike,
        share: tuple[float, float],
    ) -> None:
        order, lock, stop = iter(items), threading.Lock(), threading.Event()
        done = 0

        def work(after_each: Callable[[], None] = lambda: None) -> None:
            nonlocal done
            while not stop.is_set():
                with lock:
                    item = next(order, None)
                if item is None:
                    return
                job(item)
                done += 1  # a lost update costs a wrong percentage, nothing else
                after_each()

        def tell() -> None:
            cancel.check()
            cancel.progress(share[0] + (share[1] - share[0]) * done / len(items))

        # The caller works too: short work is done before another thread has woken up.
        others = min(self.size, len(items)) - 1
        futures = [self._executor().submit(work) for _ in range(others)]
        try:
            with alone():
                work(tell)
            waiting = set(futures)
            while waiting:
                finished, waiting = wait(waiting, POLL_S)
                for future in finished:
                    future.result()
                tell()
        finally:
            stop.set()
            wait(futures)

    def scratch(self, name: str, count: int, dtype: torch.dtype) -> Tensor:
        """Return uninitialised memory of this thread, [count], the same again for the same name."""
        kept: dict[tuple[str, torch.dtype], Tensor] = self._own.__dict__.setdefault("kept", {})
        found = kept.get((name, dtype))
        if found is None or found.numel() < count:
            found = kept[name, dtype] = torch.empty(count, dtype=dtype, device=self.device)
        return found[:count]

    def close(self) -> None:
        """Let the workers go; the next work would start new ones."""
        pool, self._pool = self._pool, None
        self._own = threading.local()  # the caller's memory too
        if pool is not None:
            pool.shutdown(wait=True)

    def _executor(self) -> ThreadPoolExecutor:
        if self._pool is None:
            threads = torch.get_num_threads()
            ready = threading.Barrier(self.size)

            def alone() -> None:
                # A thread's first operation gives it the process's number, unless that has been asked for before.
                torch.get_num_threads()
                torch.set_num_threads(1)  # holds for this thread
                ready.wait()

            self._pool = ThreadPoolExecutor(self.size - 1, "relpos-field", initializer=alone)
            for _ in range(self.size - 1):
                self._pool.submit(lambda: None)
            ready.wait()
            torch.set_num_threads(threads)  # it is also the number that later threads begin with
        return self._pool
