# Prints `MODE UID GID` of a regular file, and then its bytes. usage: file.sh PATH MOST_BYTES [follow]
# Exit codes: 44: there is none, 42: it is none of a regular file's kind, 43: it can't be read.
LC_ALL=C
export LC_ALL
[ -e "$1" ] || [ -L "$1" ] || {
    reason=$(ls -ld -- "$1" 2>&1 > /dev/null)
    case $reason in *"Permission denied"*) exit 43 ;; esac
    exit 44
}
[ -n "${3-}" ] || [ ! -L "$1" ] || exit 42
[ -e "$1" ] || exit 44
[ -f "$1" ] || exit 42
[ -r "$1" ] || exit 43
exec 3< "$1"
opened=/proc/$$/fd/3 # another file may have the name by now
[ -f "$opened" ] || exit 42
[ -n "${3-}" ] || { [ ! -L "$1" ] && [ "$1" -ef "$opened" ]; } || exit 42
listed=$(ls -ldnL "$opened") || exit 43
(set -f; set -- $listed; echo "$1 $3 $4")
exec head -c "$2" <&3
