"""Records which files of Tenax are called for one visit; loaded as `sitecustomize` by `docs.url_path`, in each process.

The environment variable TRACED_CALLS names the source, the directory for the records, and the number of the visit.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE, DIRECTORY, VISIT = os.environ["TRACED_CALLS"].split(os.pathsep)
IS_READER = any("reader" in word for word in sys.orig_argv)
FIRST = "Reader.extract" if IS_READER else "Engine.process_claim"
# They run all the time, for no URL in particular.
BACKGROUND = ("crawl/supervisor.py", "cli/views/progress.py")

started = 0
is_recording = is_written = False
first_frame: FrameType | None = None
calls: dict[tuple[str, str], None] = {}
"""The file of the caller and the file of the called function, in the order of the first call."""


def on_event(frame: FrameType, event: str, _result: Any) -> None:
    global started, is_recording, first_frame
    code = frame.f_code
    if is_written or not code.co_filename.startswith(SOURCE) or code.co_name == "<module>":
        return
    if event == "call":
        # A coroutine is called again each time it resumes.
        if code.co_qualname == FIRST and frame is not first_frame and not is_recording:
            first_frame = frame
            started += 1
            is_recording = started == int(VISIT)
        if is_recording and not is_background(frame):
            calls.setdefault((caller(frame), name(frame)))
    elif event == "return" and is_recording and is_end(frame):
        write()


def is_end(frame: FrameType) -> bool:
    if IS_READER or first_frame is None:
        return frame is first_frame
    if frame.f_code.co_qualname != "JsonlSink._append":
        return False
    url = first_frame.f_locals["claim"].task.url
    return any(event.page.url == url for event in frame.f_locals["events"])


def caller(frame: FrameType) -> str:
    """The file of the next function of Tenax up the stack; empty below the event loop."""
    above = frame.f_back
    while above is not None and not above.f_code.co_filename.startswith(SOURCE):
        above = above.f_back
    return name(above) if above is not None else ""


def name(frame: FrameType) -> str:
    return frame.f_code.co_filename[len(SOURCE) + 1 :]


def is_background(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.endswith(BACKGROUND):
            return True
        frame = frame.f_back
    return False


def write() -> None:
    global is_written
    is_written = True
    record = Path(DIRECTORY, f"{'reader' if IS_READER else 'crawl'}-{os.getpid()}")
    record.write_text("".join(f"{above} {below}\n" for above, below in calls))


sys.setprofile(on_event)
threading.setprofile(on_event)
