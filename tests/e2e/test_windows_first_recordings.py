# SPDX-License-Identifier: MIT
"""As test_windows_first.py: a recording that dnprof.exe made is readable at every byte, by itself."""
from test_recording import (recording, test_chunks, test_cut_anywhere, test_cut_between_chunks, test_damaged,  # noqa: F401
                            test_names_that_threads_have_before_they_start, test_two_recordings_in_one_file)
from test_windows import pytestmark, truth, wine  # noqa: F401
from windows import instead, script  # noqa: F401
