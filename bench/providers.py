# SPDX-License-Identifier: MIT
"""What the benchmarks of events have the runtime tell, by event."""

#: Keywords and level as the agent's.
PROVIDERS = {
    "lock": "Microsoft-Windows-DotNETRuntime:0x4000:4",
    "alloc": "Microsoft-Windows-DotNETRuntime:0x80000000000:4",
    "exception": "Microsoft-Windows-DotNETRuntime:0x8000:4",
}
