# Runs a program in the private folder, with its process group in a file beside it for keep_home.sh. usage: load.sh PROGRAM...
umask 077
trap : HUP INT TERM # not ignored, which the program would inherit; this shell outlives it to give its exit code
read -r stat < /proc/$$/stat
fields=${stat##*) }
fields=${fields#* * }
group=${fields%% *}
if [ "$group" != "$$" ]; then
    echo "sshd did not start this command in a process group of its own" >&2
    exit 1
fi
echo "$group" > "../$$.group" || exit 1
"$@" < /dev/null &
child=$!
while :; do
    wait "$child"
    code=$?
    kill -s 0 "$child" 2> /dev/null || break
done

is_in_use() { # whether other processes still keep the number of the group from being given to another one
    for file in /proc/[0-9]*/stat; do
        read -r stat < "$file" || continue
        fields=${stat##*) }
        fields=${fields#* * }
        [ "${fields%% *}" != "$group" ] || [ "${stat%% *}" = "$$" ] || return 0
    done 2> /dev/null
    return 1
}
is_in_use || rm -f "../$group.group"
exit "$code"
