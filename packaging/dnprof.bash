# SPDX-License-Identifier: MIT
# Completion for bash: install as /usr/share/bash-completion/completions/dnprof

# Each line of the standard input is one: names of files have blanks.
_dnprof_offer() { mapfile -t COMPREPLY; }

# What stands behind an option that takes an argument: words, a file, or nothing to offer.
_dnprof_argument() # ARGUMENT CURRENT COMMAND
{
	local events="cpu wall switch alloc exception jit load lock waithandle gc mark request safepoint" words="" before=""

	case $1 in
	FILE | OUT) _dnprof_offer < <(compgen -f -- "$2"); return ;;
	SOURCE) words="auto perf timer" ;;
	LIST)
		words=$events
		[ "$3" != run ] || words+=" trace transition"
		before=${2%"${2##*,}"}
		;;
	EVENT) words="$events trace transition transition-in live wait lock-owner" ;;
	FORMAT) words="perfetto chrome csv collapsed html text report-json" ;;
	DEPTH) words="tree time events" ;;
	ENGINE) words="signal snapshot" ;;
	STATE) words="any running waiting" ;;
	WHICH) words="all leaf none" ;;
	esac
	compopt +o filenames 2>/dev/null # nothing in them is to be quoted
	_dnprof_offer < <(compgen -P "$before" -W "$words" -- "${2#"$before"}")
}

_dnprof()
{
	# begin bash
	local commands="run record report export log timeline attach start dump stop detach stack status doctor help"
	local -A options=(
		[run]="-h --help -o --output -e --event -F --frequency -i --interval --live --no-messages --wait -d --duration --children --depth --include --exclude --framework --no-inline --no-tiering --args --transitions --log --frames --engine --source --native --profiler-clsid --profiler-path --profiler-env -q --quiet -v --verbose"
		[record]="-h --help -o --output -e --event -F --frequency -i --interval --live --no-messages --wait -d --duration --include --exclude --frames --engine --source --native --timeout -q --quiet -v --verbose"
		[report]="-h --help --json -e --event -n --top -t --threads --tree -m --method --min --thread --request --state --native --include --exclude -o --output"
		[export]="-h --help -o --output -f --format -e --event --thread --request"
		[log]="-h --help -o --output --by-time --times --signatures --calls --summary --thread --include --exclude"
		[timeline]="-h --help -o --output -d --duration --others --wakeups --live -q --quiet -v --verbose"
		[attach]="-h --help --timeout --notification --profiler-clsid --profiler-path --client-data --port -q --quiet"
		[start]="-h --help -o --output -e --event -F --frequency -i --interval --live --no-messages --wait --frames --engine --source --timeout -q --quiet -v --verbose"
		[dump]="-h --help -o --output --include --exclude --native --timeout -q --quiet"
		[stop]="-h --help -o --output --include --exclude --native --timeout -q --quiet"
		[detach]="-h --help --timeout -q --quiet"
		[stack]="-h --help --json --native -t --threads --thread --timeout"
		[status]="-h --help --json --timeout"
		[doctor]="-h --help --json --timeout"
		[help]="-h --help"
	)
	local -A arguments=(
		[run]=" -o=FILE --output=FILE -e=LIST --event=LIST -F=HZ --frequency=HZ -i=TIME --interval=TIME --wait=TIME -d=SECONDS --duration=SECONDS --depth=DEPTH --include=PATTERNS --exclude=PATTERNS --frames=N --engine=ENGINE --source=SOURCE --native=WHICH --profiler-clsid=GUID --profiler-path=FILE --profiler-env=NAME=VALUE "
		[record]=" -o=FILE --output=FILE -e=LIST --event=LIST -F=HZ --frequency=HZ -i=TIME --interval=TIME --wait=TIME -d=SECONDS --duration=SECONDS --include=PATTERNS --exclude=PATTERNS --frames=N --engine=ENGINE --source=SOURCE --native=WHICH --timeout=SECONDS "
		[report]=" -e=EVENT --event=EVENT -n=N --top=N -m=PATTERNS --method=PATTERNS --min=PERCENT --thread=THREADS --request=PATTERNS --state=STATE --native=WHICH --include=PATTERNS --exclude=PATTERNS -o=FILE --output=FILE "
		[export]=" -o=OUT --output=OUT -f=FORMAT --format=FORMAT -e=EVENT --event=EVENT --thread=THREADS --request=PATTERNS "
		[log]=" -o=FILE --output=FILE --thread=THREADS --include=PATTERNS --exclude=PATTERNS "
		[timeline]=" -o=FILE --output=FILE -d=SECONDS --duration=SECONDS "
		[attach]=" --timeout=SECONDS --profiler-clsid=GUID --profiler-path=FILE --client-data=TEXT --port=FILE "
		[start]=" -o=FILE --output=FILE -e=LIST --event=LIST -F=HZ --frequency=HZ -i=TIME --interval=TIME --wait=TIME --frames=N --engine=ENGINE --source=SOURCE --timeout=SECONDS "
		[dump]=" -o=FILE --output=FILE --include=PATTERNS --exclude=PATTERNS --native=WHICH --timeout=SECONDS "
		[stop]=" -o=FILE --output=FILE --include=PATTERNS --exclude=PATTERNS --native=WHICH --timeout=SECONDS "
		[detach]=" --timeout=SECONDS "
		[stack]=" --native=WHICH --thread=THREADS --timeout=SECONDS "
		[status]=" --timeout=SECONDS "
		[doctor]=" --timeout=SECONDS "
		[help]=" "
	)
	# end bash
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]} argument within="" i

	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		COMPREPLY=($(compgen -W "$commands --help --version" -- "$current"))
		return
	fi
	[ -n "${options[$command]-}" ] || return
	# Behind `--` stands a command with arguments of its own.
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "$command" = run ] && [ "${COMP_WORDS[i]}" = -- ]; then
			if [ $((COMP_CWORD - i)) = 1 ]; then
				_dnprof_offer < <(compgen -c -f -- "$current")
			else
				_dnprof_offer < <(compgen -f -- "$current")
			fi
			return
		fi
	done
	# The equals sign of `--event=cpu` is a word of its own, unless somebody has set COMP_WORDBREAKS otherwise.
	if [ "$current" = "=" ]; then
		current=""
	elif [ "$previous" = "=" ]; then
		previous=${COMP_WORDS[COMP_CWORD - 2]}
	elif [[ $current == --*=* ]]; then
		previous=${current%%=*} within=${current%%=*}= current=${current#*=}
	fi
	argument=${arguments[$command]#* "$previous"=}
	if [ "$argument" != "${arguments[$command]}" ]; then
		_dnprof_argument "${argument%% *}" "$current" "$command"
		COMPREPLY=("${COMPREPLY[@]/#/$within}")
	elif [[ $current == -* ]]; then
		COMPREPLY=($(compgen -W "${options[$command]}" -- "$current"))
	elif [ "$command" = help ]; then
		COMPREPLY=($(compgen -W "$commands" -- "$current"))
	elif [ "$command" = stack ]; then
		# Processes that can be asked: each has a socket dnprof-PID-STARTTIME-socket.
		COMPREPLY=($(compgen -W "$(compgen -G "${TMPDIR:-/tmp}/dnprof-*-socket" |
			sed 's/.*dnprof-\([0-9]*\)-.*/\1/')" -- "$current"))
	else
		_dnprof_offer < <(compgen -f -- "$current")
	fi
}
complete -o filenames -F _dnprof dnprof
