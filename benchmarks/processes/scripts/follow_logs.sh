# Sends what is appended to the logs in this folder, each time that a line comes on stdin, and frees their parts that it
# sent; at the end of stdin it sends the rest. usage: follow_logs.sh PATTERN
# Prints `ready`, or why it can't free them, in one line; then `NAME BYTES` before each piece, and `done` after each
# answer. `behind` says that more waited than is kept, so that the rest is freed without being sent.
umask 077
LC_ALL=C
export LC_ALL
trap '' HUP INT TERM
pattern=$1 folder=$(pwd -P)
block=4096
piece=256       # blocks that are sent at a time
freed_each=64   # blocks after which a log is freed
kept=16384      # blocks that may wait to be sent
behind=''
echo "$$" > "../$$.helper" || exit 1

trial=../$$.trial # where the load can't make a link of it
why_not() {
    head -c 8192 /dev/zero > "$trial" || return
    fallocate --punch-hole --offset 0 --length "$block" "$trial"
}
reason=$(why_not 2>&1) || {
    rm -f "$trial" "../$$.helper"
    echo "logs $(echo "${reason:-fallocate failed}" | tail -n 1)"
    exit 0
}
rm -f "$trial"
opened=/proc/$$/fd/8 # the log: its name may become a link at any moment
echo "logs ready"
exec 2> /dev/null

of_log() { # of_log NAME: sets log, and sent and freed, the blocks of it that were sent and freed
    IFS=.
    set -- $1
    IFS=_
    log="$*"
    unset IFS
    case $log in *[!A-Za-z0-9_]*) return 1 ;; esac
    eval "sent=\${sent_$log:-0} freed=\${freed_$log:-0}"
}

send() { # send NAME BLOCKS BYTES
    echo "$1 $3"
    dd if="$opened" bs="$block" skip="$sent" count="$2" | head -c "$3"
}

free_sent() {
    fallocate --punch-hole --offset $((freed * block)) --length $(((sent - freed) * block)) "$opened"
    freed=$sent
}

pass() { # sets `more` where not all was sent
    more=
    sizes=$(stat -c '%s %n' $pattern)
    set -f
    set -- $sizes
    set +f
    while [ $# -ge 2 ]; do
        [ -L "$2" ] || [ ! -f "$2" ] || { advance "$2" "$1"; } 8< "$2"
        shift 2
    done
}

advance() { # advance NAME SIZE
    [ "$(readlink "$opened")" = "$folder/$1" ] || return
    of_log "$1" || return
    blocks=$(($2 / block - sent))
    [ "$blocks" -le "$kept" ] || [ -n "$behind" ] || { behind=yes; echo behind; }
    if [ -n "$behind" ]; then
        sent=$(($2 / block))
    elif [ "$blocks" -gt 0 ]; then
        [ "$blocks" -le "$piece" ] || { blocks=$piece; more=yes; }
        send "$1" "$blocks" $((blocks * block))
        sent=$((sent + blocks))
    fi
    [ $((sent - freed)) -lt "$freed_each" ] || free_sent
    eval "sent_$log=$sent freed_$log=$freed"
    rest=$(($2 - sent * block))
    [ -z "$last" ] || [ -n "$more$behind" ] || [ "$rest" -eq 0 ] || send "$1" 1 "$rest"
}

last=
while read -r _ && [ -e "$folder" ]; do
    pass
    echo done
done
more=yes
while [ -n "$more" ] && [ -e "$folder" ]; do
    last=
    pass
done
last=yes
pass
rm -f "../$$.helper"
