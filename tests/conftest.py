"""What all tests stand on."""

from __future__ import annotations

import signal

# A shell that runs tests in the background has its children ignore Ctrl-C, and theirs too; tests that press it need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
