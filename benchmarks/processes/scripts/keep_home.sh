# Makes a private folder, prints its path, and keeps it while letters come on stdin; then it ends the programs whose
# process groups stand in files *.group and *.helper beside it, and removes all. T and K send the first ones a signal.
# The files lie beside it, since a program in a sandbox can write into the folder. usage: keep_home.sh OWNER SILENT_S
trap '' HUP INT TERM PIPE
umask 077
base=/run/user/$(id -u)
[ -d "$base" ] && [ -w "$base" ] || base=/tmp
top=$(mktemp -d "$base/pooldeck-run-$1-XXXXXX") && mkdir "$top/home" || exit 1
signal() { # signal SIGNAL KIND
    for file in "$top"/*."$2"; do
        [ -e "$file" ] && kill -s "$1" -- "-$(cat "$file")" 2> /dev/null
    done
}
echo "home $top/home"
# timeout sends KILL, since the signals that this script ignores are ignored by what it starts
while letter=$(timeout -s KILL "$2" head -c 1) && [ -n "$letter" ]; do
    case $letter in
        T) signal TERM group; signal CONT group ;;
        K) signal KILL group; rm -f "$top"/*.group ;; # their numbers may be given to other groups
    esac
done
signal TERM group
sleep 0.3
signal KILL group
signal KILL helper
for attempt in 1 2 3 4 5; do
    rm -rf "$top"
    [ -e "$top" ] || exit 0
    sleep 0.2
done
exit 1
