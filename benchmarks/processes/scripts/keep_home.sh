# Makes a private folder, prints its path, and keeps it while letters come on stdin; then it ends the programs whose
# process groups stand in files *.group there, and removes it. T and K send them a signal. usage: keep_home.sh OWNER SILENT_S
trap '' HUP INT TERM PIPE
umask 077
base=/run/user/$(id -u)
[ -d "$base" ] && [ -w "$base" ] || base=/tmp
home=$(mktemp -d "$base/pooldeck-run-$1-XXXXXX") || exit 1
signal() {
    for file in "$home"/*.group; do
        [ -e "$file" ] && kill -s "$1" -- "-$(cat "$file")" 2> /dev/null
    done
}
echo "home $home"
# timeout sends KILL, since the signals that this script ignores are ignored by what it starts
while letter=$(timeout -s KILL "$2" head -c 1) && [ -n "$letter" ]; do
    case $letter in
        T) signal TERM; signal CONT ;;
        K) signal KILL ;;
    esac
done
signal TERM
sleep 0.3
signal KILL
for attempt in 1 2 3 4 5; do
    rm -rf "$home"
    [ -e "$home" ] || exit 0
    sleep 0.2
done
exit 1
