# Prints facts of the processes with these names, and what listens on the host. usage: processes.sh NAME...
# A line `process PID` begins each; sockets can be told only of this account's own processes, or of all by root.
one_line() { tr '\n' ' ' | sed 's/ $//'; }

facts() { # facts PID
    at=/proc/$1
    printf 'process %s\n' "$1"
    printf 'ppid %s\n' "$(sed -n 's/^PPid:[[:space:]]*//p' "$at/status")"
    printf 'user %s\n' "$(ls -ld "$at" | awk '{print $3}')"
    printf 'exe %s\n' "$(readlink "$at/exe" | one_line)"
    printf 'cwd %s\n' "$(readlink "$at/cwd" | one_line)"
    printf 'unit %s\n' "$(sed -n 's|.*/\([^/]*\.service\).*|\1|p' "$at/cgroup" | head -n 1)"
    printf 'argv %s\n' "$(tr '\n\000' ' \037' < "$at/cmdline")"
    printf 'sockets %s\n' "$(ls -l "$at/fd" | sed -n 's/.*socket:\[\([0-9]*\)\]$/\1/p' | one_line)"
}

words=$*
for comm in $(grep -lxE "$(echo "$words" | tr ' ' '|')" /proc/[0-9]*/comm 2> /dev/null); do
    at=${comm%/comm}
    printf '%s\n' "$(facts "${at#/proc/}" 2> /dev/null)" "name $(cat "$comm" 2> /dev/null)"
done
awk '$4 == "0A" {print "tcp", $10, $2}' /proc/net/tcp /proc/net/tcp6 2> /dev/null
awk '$4 == "00010000" && $8 ~ /^\// {print "unix", $7, $8}' /proc/net/unix 2> /dev/null # those that listen
exit 0
