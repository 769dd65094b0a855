"""What a command takes: runs `tenax` with these arguments, and says so on standard error, as a line of JSON.

python -m tests.hostile.cost read page.html --format json
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def memory_bytes(field: str) -> int:
    """`VmRSS` is what this process holds, `VmHWM` the most it ever held."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def main() -> None:
    from tenax.cli import main as tenax

    code = tenax(sys.argv[1:])
    cost = {"code": code, "seconds": time.process_time(), "bytes": memory_bytes("VmHWM")}
    sys.stderr.write(json.dumps(cost) + "\n")


if __name__ == "__main__":
    main()
