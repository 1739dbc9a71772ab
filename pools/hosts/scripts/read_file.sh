# Prints a file. usage: read_file.sh PATH MOST_BYTES; exit code 44: there is none.
[ -e "$1" ] || exit 44
[ -f "$1" ] || { echo "it is not a regular file" >&2; exit 1; }
exec head -c "$2" < "$1"
