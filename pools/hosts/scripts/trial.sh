# Starts a program on a copy of its files, and ends it once its log says `process up`, or after a while. Prints its log.
# usage: trial.sh PROGRAM CONFIG_DIR FOLDER SECONDS MAIN [NAME BYTES]..., the files one after the other on stdin
LC_ALL=C
export LC_ALL
umask 077
program=$1 config_dir=$2 folder=$3 seconds=$4 main=$5
shift 5
child=
mkdir "$folder" || exit 1
trap '[ -z "$child" ] || kill -9 "$child" 2> /dev/null; rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM PIPE
cat > "$folder/all" || exit 1
offset=1
while [ $# -gt 0 ]; do
    tail -c "+$offset" "$folder/all" | head -c "$2" > "$folder/$1" || exit 1
    [ "$(wc -c < "$folder/$1")" -eq "$2" ] || { echo "FATAL No space left on device"; exit 1; }
    offset=$((offset + $2))
    shift 2
done
rm -f "$folder/all"
cd -- "$config_dir" || exit 1
: > "$folder/trial-log"
account=
if [ "$(id -u)" = 0 ]; then # the program refuses root: the owner of its folder starts it
    owner=$(set -f; set -- $(ls -ldn .); echo "$3:$4")
    chown -R "$owner" "$folder" || exit 1
    account="setpriv --reuid=${owner%:*} --regid=${owner#*:} --clear-groups --"
fi
$account "$program" "$folder/$main" < /dev/null > /dev/null 2> "$folder/trial-log" &
child=$!
left=$((seconds * 10))
while [ "$left" -gt 0 ] && kill -0 "$child" 2> /dev/null && ! grep -q "process up" "$folder/trial-log"; do
    sleep 0.1
    left=$((left - 1))
done
code=0
if ! kill -0 "$child" 2> /dev/null; then
    wait "$child"
    code=$?
    child=
fi
cat "$folder/trial-log"
exit "$code"
