"""`python -m tenax`: the same program as `tenax`."""

from __future__ import annotations

import sys

from tenax.cli import main

if __name__ == "__main__":
    sys.exit(main())
