# SPDX-License-Identifier: MIT
# Completion for bash: install as /usr/share/bash-completion/completions/dnprof

# What stands behind an option that takes an argument: words, a file, or nothing to offer.
_dnprof_argument() # ARGUMENT CURRENT
{
	case $1 in
	FILE) COMPREPLY=($(compgen -f -- "$2")) ;;
	SOURCE) COMPREPLY=($(compgen -W "auto perf timer" -- "$2")) ;;
	EVENT | LIST) COMPREPLY=($(compgen -W "cpu" -- "$2")) ;;
	esac
}

_dnprof()
{
	# begin bash
	local commands="run report stack help"
	local -A options=(
		[run]="-h --help -o --output -e --event -F --frequency -i --interval -d --duration --children --depth --engine --source --native -q --quiet -v --verbose"
		[report]="-h --help --json -e --event -n --top -t --threads --tree --min --thread --state --native --include --exclude -o --output"
		[stack]="-h --help --json --native -t --threads --thread --timeout"
		[help]="-h --help"
	)
	local -A arguments=(
		[run]=" -o=FILE --output=FILE -e=LIST --event=LIST -F=HZ --frequency=HZ -i=TIME --interval=TIME -d=SECONDS --duration=SECONDS --depth=N --engine=ENGINE --source=SOURCE --native=WHICH "
		[report]=" -e=EVENT --event=EVENT -n=N --top=N --min=PERCENT --thread=THREADS --state=STATE --native=WHICH --include=PATTERNS --exclude=PATTERNS -o=FILE --output=FILE "
		[stack]=" --native=WHICH --thread=THREADS --timeout=SECONDS "
		[help]=" "
	)
	# end bash
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]} argument i

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
				COMPREPLY=($(compgen -c -f -- "$current"))
			else
				COMPREPLY=($(compgen -f -- "$current"))
			fi
			return
		fi
	done
	argument=${arguments[$command]#* "$previous"=}
	if [ "$argument" != "${arguments[$command]}" ]; then
		_dnprof_argument "${argument%% *}" "$current"
	elif [[ $current == -* ]]; then
		COMPREPLY=($(compgen -W "${options[$command]}" -- "$current"))
	elif [ "$command" = help ]; then
		COMPREPLY=($(compgen -W "$commands" -- "$current"))
	elif [ "$command" = stack ]; then
		# Processes that can be asked: each has a socket dnprof-PID-STARTTIME-socket.
		COMPREPLY=($(compgen -W "$(compgen -G "${TMPDIR:-/tmp}/dnprof-*-socket" |
			sed 's/.*dnprof-\([0-9]*\)-.*/\1/')" -- "$current"))
	else
		COMPREPLY=($(compgen -f -- "$current"))
	fi
}
complete -o filenames -F _dnprof dnprof
