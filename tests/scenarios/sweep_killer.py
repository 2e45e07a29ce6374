"""Runs a sweep in child processes and kills them with SIGKILL at random moments; used by test_sweep_durable.py.

    python sweep_killer.py SCENARIO FOLDER KILLS SEED WORKERS

Prints `killed N` for every folder FOLDER/0, FOLDER/1, ... that ended whole: how often it was killed on the way.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from bankbench.scenarios.load import load
from bankbench.scenarios.sweep.run import prepare, sweep


def main() -> None:
    scenario, folder, kills, seed, workers = sys.argv[1:]
    plan = replace(prepare(load(scenario))[0], batch=40)
    rng = random.Random(int(seed))
    left, number, here = int(kills), 0, 0
    while left > 0 or here:
        target = Path(folder) / str(number)
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            sweep(plan, target, resume=True, workers=int(workers))
            os._exit(0)
        if left > 0:
            time.sleep(rng.uniform(0.0, 0.25 if workers == "1" else 2.5))
            if os.waitpid(child, os.WNOHANG)[0] == 0:
                _kill(child)
                left, here = left - 1, here + 1
                continue
        else:
            os.waitpid(child, 0)
        print(f"killed {here}", flush=True)
        number, here = number + 1, 0


def _kill(child: int) -> None:
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:  # it had not made its group yet
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


if __name__ == "__main__":
    main()
