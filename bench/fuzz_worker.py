"""The process that fuzzes one target with coverage guidance: run by `bench/soak_read.py`.

It is run by the Python of an environment that has atheris:
`python -P fuzz_worker.py TARGET FOUND_DIRECTORY [options of libFuzzer] CORPUS_DIRECTORY`. An input that raises, takes
too long or grows the process is stored and reported in one line, and fuzzing continues; libFuzzer stores an input that
kills the process.
"""

from __future__ import annotations

import hashlib
import resource
import sys
import time
import traceback
from pathlib import Path
from random import Random

import atheris

with atheris.instrument_imports(include=["tenax.extract"]):
    from bench.fuzz_targets import TARGETS
    from bench.fuzz_words import mutated

HANG_CPU_SECONDS = 1.0
GROWN_MEGABYTES = 100
"""Inputs are of a few kilobytes: none may need this much."""
OWN_MUTATIONS = 0.7
"""The others are libFuzzer's own, which also learns from comparisons."""


class FuzzRun:
    """One target and its findings; each location in the code counts once."""

    def __init__(self, target: str, found: Path) -> None:
        self._target, self._read, self._found = target, TARGETS[target], found
        self._known: set[str] = set()
        self._peak = 0

    def one(self, data: bytes) -> None:
        started = time.process_time()
        try:
            self._read(data)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            self._keep("crash", f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}", data)
        seconds = time.process_time() - started
        # Pauses of the interpreter or of a busy machine do not repeat.
        if seconds > HANG_CPU_SECONDS and self._takes_long(data):
            self._keep("hang", f"{seconds:.0f} s of CPU", data)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if self._peak and peak - self._peak > GROWN_MEGABYTES * 1024:
            self._keep("memory", f"{(peak - self._peak) // 1024} MB more", data)
        self._peak = peak

    def _takes_long(self, data: bytes) -> bool:
        started = time.process_time()
        try:
            self._read(data)
        except Exception:
            return False  # reported already
        return time.process_time() - started > HANG_CPU_SECONDS

    def _keep(self, what: str, why: str, data: bytes) -> None:
        if f"{what} {why}" in self._known:
            return
        self._known.add(f"{what} {why}")
        file = self._found / f"{self._target}-{what}-{hashlib.sha256(data).hexdigest()[:12]}"
        file.write_bytes(data)
        print(f"FOUND {what}: {why} ({file.name})", flush=True)


def mutate(data: bytes, max_bytes: int, seed: int) -> bytes:
    random = Random(seed)
    if random.random() < OWN_MUTATIONS:
        return mutated(data, max_bytes, random)
    return bytes(atheris.Mutate(data, max_bytes))


def main() -> None:
    target, found, *options = sys.argv[1:]
    run = FuzzRun(target, Path(found))
    atheris.Setup([sys.argv[0], *options], run.one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
