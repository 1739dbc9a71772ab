# Prints what a log has gained since a position, at most MOST_BYTES of it, the newest.
# usage: read_after.sh PATH MOST_BYTES INODE OFFSET; with the inode 0 it tells where the log ends, and prints nothing.
# Where another file has the name now, it prints the rest of the one that a rotation put aside first; the next run
# prints the new one. First a line `INODE OFFSET SKIPPED NAME`: the file that is read, the place of the first byte after
# the line, the bytes between the position and it that were too many, and `log` or `rotated`. Exit code 44: there is none.
LC_ALL=C
export LC_ALL
path=$1 most=$2 inode=$3 offset=$4 name=log
[ -e "$path" ] || exit 44
[ -f "$path" ] || { echo "it is not a regular file" >&2; exit 1; }
[ -r "$path" ] || { echo "the account there may not read it" >&2; exit 1; }

look() { # look at the file that is open as 3, whatever has its name by now: sets `found` and `size`
    listed=$(ls -lidnL "/proc/$$/fd/3") || exit 1 # the status of `set -- $(ls ...)` would be that of `set`
    set -f
    set -- $listed
    found=$1 size=$6
}

exec 3< "$path"
look
if [ "$inode" != 0 ] && [ "$inode" != "$found" ] && [ -f "$path.1" ] && [ -r "$path.1" ]; then
    exec 3< "$path.1"
    look
    if [ "$inode" = "$found" ] && [ "$size" -gt "$offset" ]; then name=rotated; else exec 3< "$path"; look; fi
fi
if [ "$inode" = 0 ]; then offset=$size
elif [ "$inode" != "$found" ] || [ "$size" -lt "$offset" ]; then offset=0
fi
skipped=$((size - offset - most))
[ "$skipped" -gt 0 ] || skipped=0
offset=$((offset + skipped))
echo "$found $offset $skipped $name"
[ "$size" -gt "$offset" ] || exit 0
# dd seeks, where tail of busybox would read a long log from its begin
dd bs=65536 skip="$((offset / 65536))" count="$((most / 65536 + 2))" <&3 2> /dev/null |
    tail -c "+$((offset % 65536 + 1))" | head -c "$((size - offset))"
