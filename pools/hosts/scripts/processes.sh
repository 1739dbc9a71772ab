# Prints facts of the processes with these names, and what listens on the host. usage: processes.sh NAME...
# Lines of a process are `FACT PID VALUE`. A Pgpool-II has hundreds of children: what needs a program is read of all at
# once where it can be, since one started per fact and process takes minutes on a busy host. Sockets can be told only of
# this account's own processes, or of all by root.
words=$*
folders=
for comm in $(grep -lxE "$(echo "$words" | tr ' ' '|')" /proc/[0-9]*/comm 2> /dev/null); do
    at=${comm%/comm}
    pid=${at#/proc/}
    {
        name= ppid= unit=
        read -r name < "$comm"
        while read -r fact value; do
            [ "$fact" = PPid: ] && ppid=$value && break
        done < "$at/status"
        while read -r group; do
            case $group in *.service*) unit=${group%.service*}.service && unit=${unit##*/} && break ;; esac
        done < "$at/cgroup"
        printf '%s\n' "name $pid $name" "ppid $pid $ppid" "unit $pid $unit"
        printf 'argv %s ' "$pid"
        tr '\n\000' ' \037' < "$at/cmdline"
        printf '\n'
    } 2> /dev/null
    folders="$folders $at"
done
[ -z "$folders" ] || {
    # shellcheck disable=SC2046,SC2086 # pids have no blanks
    set -- $folders
    ls -ld "$@" | awk '{sub(".*/", "", $NF); print "user", $NF, $3}'
    ls -l $(printf '%s/exe %s/cwd ' $(for at; do echo "$at" "$at"; done)) |
        sed -n 's|.* /proc/\([0-9]*\)/\(...\) -> \(.*\)|\2 \1 \3|p'
    # a folder that is listed alone has no heading
    ls -l $(printf '%s/fd ' "$@") /proc/self/fd | awk '
        /^\/proc\/[0-9]+\/fd:$/ {split($0, part, "/"); pid = part[3]}
        /^\/proc\/self\/fd:$/ {pid = ""}
        pid && /socket:\[[0-9]+\]$/ {inode = $NF; gsub("[^0-9]", "", inode); print "socket", pid, inode}'
} 2> /dev/null
awk '$4 == "0A" {print "tcp", $10, $2}' /proc/net/tcp /proc/net/tcp6 2> /dev/null
awk '$4 == "00010000" && $8 ~ /^\// {print "unix", $7, $8}' /proc/net/unix 2> /dev/null # those that listen
exit 0
