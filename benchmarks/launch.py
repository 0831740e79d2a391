"""Runs a command and writes its seconds, CPU seconds, peak memory in kB and exit code to a file descriptor.

A process inherits the peak memory of its parent, so the parent must be small: this script loads almost nothing.
"""

import os
import sys
import time

figures, *command = sys.argv[1:]
os.set_inheritable(int(figures), False)
start = time.perf_counter()
pid = os.posix_spawnp(command[0], command, os.environ)
_, status, used = os.wait4(pid, 0)
seconds = time.perf_counter() - start
code = os.waitstatus_to_exitcode(status)
os.write(int(figures), f"{seconds} {used.ru_utime + used.ru_stime} {used.ru_maxrss} {code}".encode())
