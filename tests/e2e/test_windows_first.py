# SPDX-License-Identifier: MIT
"""What dnprof promises on Linux, of dnprof.exe under Wine: the same tests with the other program."""
# Input that is none: test_windows_bad_input.py has what differs.
from test_bad_input import (recording, test_another_profiler, test_cut, test_dll_without_dotnet, test_empty,  # noqa: F401
                            test_folder, test_folder_as_recording, test_newer_version, test_no_recording, test_no_such_program,
                            test_not_a_recording, test_not_in_path, test_notification_profiler, test_report_of_nothing,
                            test_unknown_command, test_wrong_usage)
# The program's streams and status.
from test_passthrough import (test_arguments, test_exit_status, test_names_with_pid_and_time, test_output_by_extension,  # noqa: F401
                              test_quiet_leaves_streams_alone, test_stdin_to_stdout, test_working_directory_and_relative_names)
from test_windows import pytestmark, truth, wine  # noqa: F401
from windows import instead, script  # noqa: F401
