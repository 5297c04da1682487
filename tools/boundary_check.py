"""Does the way between Python and the engine free what another allocator made, or keep what nobody has any more? Fails if so.

`make valgrind` runs it. `boundary.py` passes every kind of input and result, in three settings:

- under valgrind, where Python, pyarrow and numpy use malloc: memory of the engine's allocator that malloc's free gets is an
  invalid free there, and so is what is freed twice or read after it was freed;
- with the engine's allocator looking up every pointer it gets (no cache of its threads): memory of malloc's ends the process;
- for different numbers of rounds, after which both allocators must have given out as much.

First, programs that free with the wrong allocator on purpose must fail in the first two.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PROGRAM = str(HERE / "boundary.py")
VALGRIND = [
    "valgrind",
    "--quiet",
    "--error-exitcode=9",
    "--show-mismatched-frees=yes",
    "--undef-value-errors=no",
    f"--suppressions={HERE / 'boundary.supp'}",
]
# All that is not the engine's goes to malloc. The engine's allocator and that of polars read the same variable.
ENVIRONMENT = {
    **os.environ,
    "PYTHONMALLOC": "malloc",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "1",
    "_RJEM_MALLOC_CONF": "tcache:false,stats_print:true,stats_print_opts:gmdablxe",
}
# Rounds after which allocators are compared: in each of the two spans, what leaks in every round grows.
ROUNDS = (10, 30, 50)
# What a round may add, in bytes: to the engine's allocator nothing that counts; to malloc less than the smallest result of a round,
# which is 8 KB. Other packages add 5 KB: polars and pandas with each frame, pyarrow with each error of a reader (2026-11-23).
ALLOWED_OF_ENGINE = 256
ALLOWED_OF_MALLOC = 8000

# The engine's bytes to malloc.
WRONG_FREE = """
import ctypes, numpy, chalet
view = chalet.query("SELECT repeat('x', 1000000)", "TSV").get_memview()
free = ctypes.CDLL(None).free
free.argtypes = [ctypes.c_void_p]
free(numpy.frombuffer(memoryview(view), dtype=numpy.uint8).ctypes.data)
"""
# Malloc's bytes to the engine: the private data of a stream, replaced by a copy.
WRONG_RELEASE = """
import ctypes, chalet
libc, python = ctypes.CDLL(None), ctypes.pythonapi
libc.malloc.restype = python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
capsule = chalet.connect().query("SELECT number FROM numbers(1000)").__arrow_c_stream__()
stream = (ctypes.c_void_p * 5).from_address(python.PyCapsule_GetPointer(capsule, b"arrow_array_stream"))
copy = libc.malloc(64)
ctypes.memmove(copy, stream[4], 64)
stream[4] = copy
del capsule
"""


def run(command, **options):
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=3600, **options)


def fail(what, done):
    print(done.stdout[-4000:], done.stderr[-8000:], sep="\n")
    sys.exit(f"FAILED: {what} (exit code {done.returncode})")


def must_pass(what, done):
    if done.returncode != 0 or "malloc " not in done.stdout:
        fail(what, done)
    print(f"ok   {what}", flush=True)


def must_be_found(what, done):
    if done.returncode == 0:
        fail(f"{what} is not found", done)
    print(f"ok   {what} is found", flush=True)


def given_out(rounds):
    """Bytes that the allocators have given out at the end: malloc, and the others by the order in which they report."""
    done = run([sys.executable, PROGRAM, str(rounds)])
    must_pass(f"{rounds} rounds with every pointer looked up", done)
    malloc = int(re.search(r"^malloc (\d+)$", done.stdout, re.MULTILINE)[1])
    others = [int(bytes) for bytes in re.findall(r"^Allocated: (\d+)", done.stderr, re.MULTILINE)]
    if not others:
        fail("the engine's allocator reports nothing", done)
    return [malloc, *others]


def main():
    must_be_found("memory of the engine that malloc frees", run([*VALGRIND, sys.executable, "-c", WRONG_FREE]))
    must_be_found("memory of malloc's that the engine frees", run([sys.executable, "-c", WRONG_RELEASE]))
    must_pass("a round under valgrind", run([*VALGRIND, sys.executable, PROGRAM, "1"]))
    first, second, third = (given_out(rounds) for rounds in ROUNDS)
    leaks = []
    for name, *bytes in zip(["malloc", *(f"allocator {n}" for n in range(1, len(first)))], first, second, third):
        grown = [(bytes[n + 1] - bytes[n]) // (ROUNDS[n + 1] - ROUNDS[n]) for n in (0, 1)]
        print(f"     {name}: {bytes[-1]} bytes in use, grown by {grown[0]} and {grown[1]} a round", flush=True)
        allowed = ALLOWED_OF_MALLOC if name == "malloc" else ALLOWED_OF_ENGINE
        leaks += [f"{name} grew by more than {allowed} bytes a round"] * (min(grown) > allowed)
    if leaks:
        sys.exit(f"FAILED: {', '.join(leaks)}")
    print("ok   nothing is kept")


if __name__ == "__main__":
    main()
