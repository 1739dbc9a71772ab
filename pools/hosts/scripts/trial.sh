# Starts a program on a copy of its files, and stops it once its log has the words READY, or after a while. Prints the log.
# usage: trial.sh PROGRAM CONFIG_DIR FOLDER SECONDS READY STOP FILES [NAME BYTES]... ARGUMENT...
# FILES is the number of the files, which come one after the other on stdin; an ARGUMENT `@/NAME` is the path of one.
# STOP is a signal: where the program does not end by it, it is killed.
LC_ALL=C
export LC_ALL
umask 077
program=$1 config_dir=$2 folder=$3 seconds=$4 ready=$5 stop=$6 files=$7
shift 7
child=

wait_for_end() { # wait_for_end SECONDS
    left=$(($1 * 10))
    while [ "$left" -gt 0 ] && kill -0 "$child" 2> /dev/null; do
        sleep 0.1
        left=$((left - 1))
    done
}

clean_up() {
    if [ -n "$child" ]; then
        kill -s "$stop" "$child" 2> /dev/null
        wait_for_end 5
        kill -9 "$child" 2> /dev/null
    fi
    rm -rf "$folder"
}

mkdir "$folder" || exit 1
trap clean_up EXIT
trap 'exit 1' HUP INT TERM PIPE
cat > "$folder/all" || exit 1
offset=1
while [ "$files" -gt 0 ]; do
    tail -c "+$offset" "$folder/all" 2> /dev/null | head -c "$2" > "$folder/$1" || exit 1
    [ "$(wc -c < "$folder/$1")" -eq "$2" ] || { echo "FATAL: No space left on device"; exit 1; }
    offset=$((offset + $2))
    files=$((files - 1))
    shift 2
done
rm -f "$folder/all"
count=$#
while [ "$count" -gt 0 ]; do
    word=$1
    shift
    case $word in @/*) word=$folder/${word#@/} ;; esac
    set -- "$@" "$word"
    count=$((count - 1))
done
cd -- "$config_dir" || exit 1
# Both by descriptors, which still are this log when the folder belongs to another account.
: > "$folder/trial-log" && exec 3>> "$folder/trial-log" || exit 1
log=/proc/$$/fd/3
account=
if [ "$(id -u)" = 0 ]; then # the program refuses root: the owner of its folder starts it
    listed=$(ls -ldn .) || exit 1
    owner=$(set -f; set -- $listed; echo "$3:$4")
    chown -R "$owner" "$folder" || exit 1
    account="setpriv --reuid=${owner%:*} --regid=${owner#*:} --clear-groups --"
fi
$account "$program" "$@" < /dev/null > /dev/null 2>&3 3>&- &
child=$!
left=$((seconds * 10))
while [ "$left" -gt 0 ] && kill -0 "$child" 2> /dev/null && ! grep -q -- "$ready" "$log"; do
    sleep 0.1
    left=$((left - 1))
done
code=0
if ! kill -0 "$child" 2> /dev/null; then
    wait "$child"
    code=$?
    child=
fi
cat "$log"
exit "$code"
