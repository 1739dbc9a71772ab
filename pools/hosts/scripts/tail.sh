# Prints the end of a log, and before it that of the file which a rotation put aside where the log is shorter.
# usage: tail.sh PATH MOST_BYTES; exit code 44: there is none.
[ -e "$1" ] || exit 44
[ -f "$1" ] || { echo "it is not a regular file" >&2; exit 1; }
[ -r "$1" ] || { echo "the account there may not read it" >&2; exit 1; }
size=$(wc -c < "$1") || exit 1
if [ "$size" -lt "$2" ] && [ -f "$1.1" ] && [ -r "$1.1" ]; then
    tail -c "$(($2 - size))" < "$1.1"
fi
exec tail -c "$2" < "$1"
