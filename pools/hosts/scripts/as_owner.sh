# Runs another script on a folder. Root becomes the folder's owner first: an owner can make each name in it lead to
# another file at any moment, and so must not be followed there by an account that may do more.
# usage: as_owner.sh FOLDER SCRIPT NAME WORD..., which runs `sh -c SCRIPT NAME FOLDER WORD...`
# Exit codes: 41 to 44 as in pools/hosts/ssh_files.py, 54: a group may write to this folder of root's, 55: root can't
# become its owner.
LC_ALL=C
export LC_ALL
folder=$1 script=$2 name=$3
shift 3
[ "$(id -u)" = 0 ] || exec sh -c "$script" "$name" "$folder" "$@"

[ -L "$folder" ] && exit 41
[ -d "$folder" ] || exit 44
cd -- "$folder" || exit 43
listed=$(ls -ldn .) || exit 43
facts=$(set -f; set -- $listed; echo "$1 $4 $3")
uid=${facts##* }
if [ "$uid" = 0 ]; then
    case $facts in ?????w*" 0 0") ;; ?????w*) exit 54 ;; esac
    exec sh -c "$script" "$name" . "$@"
fi
# its own groups, never that of the folder, which may be one that it isn't in
if group=$(id -g "$uid" 2> /dev/null); then groups=--init-groups; else group=65534 groups=--clear-groups; fi
become="setpriv --reuid=$uid --regid=$group $groups --"
$become true 2> /dev/null || { echo "$uid" >&2; exit 55; }
exec $become sh -c "$script" "$name" . "$@"
