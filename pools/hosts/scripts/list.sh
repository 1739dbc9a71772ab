# Prints `MODE UID GID SIZE NAME` of each entry of a folder, and a NUL after each. usage: list.sh FOLDER
[ -d "$1" ] || exit 44
cd -- "$1" || exit 1
[ -r . ] || { echo "Permission denied" >&2; exit 1; }
for name in * .[!.]* ..?*; do
    [ -e "$name" ] || [ -L "$name" ] || continue
    listed=$(ls -ldn -- "$name") || continue # it is gone by now
    printf '%s %s\000' "$(set -f; set -- $listed; echo "$1 $3 $4 $5")" "$name"
done
