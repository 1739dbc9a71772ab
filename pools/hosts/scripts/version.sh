# Prints what a program says of its version, if none but root and this account could have replaced it.
# usage: version.sh NAME PATH; without PATH the installed one
path=${2:-$(command -v "$1")}
case $path in /*) ;; *) exit 44 ;; esac
me=$(id -u) at=$path
while :; do
    listed=$(ls -ldnL -- "$at") || exit 44
    facts=$(set -f; set -- $listed; echo "$1 $3")
    case ${facts#* } in 0 | "$me") ;; *) exit 1 ;; esac
    case $facts in d????????[tT]*) ;; ?????w* | ????????w*) exit 1 ;; esac
    [ "$at" != / ] || break
    at=${at%/*}
    at=${at:-/}
done
option=--version
[ "$1" != haproxy ] || option=-v # to the other one it says the same, and fails
exec "$path" "$option" 2>&1
