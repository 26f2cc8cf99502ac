# SPDX-License-Identifier: MIT
"""What dnprof promises on Linux of calls, logs and reports, of dnprof.exe under Wine: the same tests with the other program."""
import pytest

from test_log import recordings, test_options as test_log_options, test_tree as test_log_tree, test_two_parts  # noqa: F401
from test_log import test_wrong_usage as test_wrong_usage_of_log  # noqa: F401
from test_report import (calls, small, test_callers_and_callees, test_calls, test_events, test_filters,  # noqa: F401
                         test_incomplete_is_status_3, test_json, test_native, test_parts, test_several_files_are_one_report,
                         test_states, test_text, test_unknown_event, wall)
# Calls: what is recorded of them, and which.
from test_trace_cli import (test_another_profiler as test_tracing_beside_another_profiler, test_beside_samples,  # noqa: F401
                            test_depths, test_exclude, test_exclude_all, test_exclude_that_matches_nothing, test_frames,
                            test_framework, test_full_disk, test_include, test_include_framework, test_include_nothing_like_it,
                            test_include_that_matches_nothing, test_include_that_misses_is_said_of_other_formats,
                            test_includes_add_up, test_log_on_a_full_disk, test_old_profilers_variables,
                            test_patterns_too_long, test_refused, test_samples_included, test_samples_none_included,
                            test_summary, test_the_programs_status_goes_first, test_too_many_options, test_wrong_pattern)
from test_windows import pytestmark, truth, wine  # noqa: F401
from windows import instead, script  # noqa: F401

pytestmark = [*pytestmark, pytest.mark.slow]
