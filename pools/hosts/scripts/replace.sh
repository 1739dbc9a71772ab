# Replaces files of a configuration folder at one moment, by the steps of pools/hosts/atomic_write.py.
# usage: replace.sh FOLDER ACCESS SEEN TOTAL_BYTES [NAME BYTES|-]...   (-: remove it), the new files one after the other
# on stdin. With the ACCESS `-` files get that of the folder; else those that are there keep theirs, and new ones get
# `UID:GID MODE`. SEEN is `DIGEST NAME...`: nothing is replaced unless these files still have the bytes that were read
# (`files_digest` of pools/hosts/ssh_files.py), so that what a lost worker sent, and arrives late, undoes nothing.
# Only the folder's owner runs it; for root see as_owner.sh.
# Exit codes: 41 to 49 as in pools/hosts/ssh_files.py, 50: a step failed, and the files are as before, 51: they have
# other bytes than SEEN, 53: they may be the new ones, but a step that stores them for good failed, 56: the disk has no
# room for the new ones: `NEEDED FREE`, in kB.
LC_ALL=C
export LC_ALL
umask 077
stage=.pooldeck
folder=$1 access=$2 seen=$3 total=$4
shift 4

refuse() { echo "${2-}" >&2; exit "$1"; }

facts_of() { # facts_of PATH: sets mode, uid and gid of the entry itself
    listed=$(ls -ldn -- "$1") || return 1
    set -f
    set -- $listed
    set +f
    mode=$1 uid=$3 gid=$4
}

[ -L "$folder" ] && exit 41
[ -d "$folder" ] || exit 44
reason=$(cd -P -- "$folder" 2>&1) || refuse 43 "$reason"
cd -P -- "$folder" || exit 43
facts_of . || exit 43
me=$(id -u)
[ "$me" = "$uid" ] || refuse 45 "$uid $me"
case $mode in ????????w*) exit 46 ;; esac
of_files=0600
case $mode in ??????[sS]*) of_files=0640; umask 027 ;; esac # what is made there has the folder's group
for tool in flock sha256sum; do
    command -v "$tool" > /dev/null || refuse 47 "$tool"
done
exec 9< . || exit 43
flock -w 20 9 || exit 48

share_file() { # share_file NAME PATH: gives a new file the access of the one that it replaces, or that of new ones
    [ "$access" != - ] || { chmod "$of_files" "$2"; return; }
    of_owner=${access%% *} of_mode=${access#* }
    if [ -e "$1" ]; then
        facts_of "$1" || return 1
        of_owner=$uid:$gid
        of_mode=$(echo "$mode" | sed 's/^.\(...\)\(...\)\(...\).*/u=\1,g=\2,o=\3/; s/[-ST]//g; s/[st]/x/g')
    fi
    chown "$of_owner" "$2" 2> /dev/null || {
        echo "$1 belongs to $of_owner, and uid $me, the owner of the folder, can't give it to them" >&2
        return 1
    }
    chmod "$of_mode" "$2"
}

is_swapped() {
    [ -L "$1" ] || return 1
    case $(ls -ldn -- "$1") in *" -> $stage/live/$1") return 0 ;; esac
    return 1
}

put_in_place() { # put_in_place SIDE NAME: the file itself replaces the link, or nothing does
    if [ -e "$1/$2" ]; then mv -f -T -- "$1/$2" "$2"; else rm -f -- "$2"; fi
}

finish() { # completes an interrupted swap, to the side that the shared link names
    [ -d "$stage" ] && [ ! -L "$stage" ] || return 0
    case $(ls -ldn "$stage/live" 2> /dev/null) in
        *" -> old") side=old ;;
        *" -> new") side=new ;;
        *) side= ;;
    esac
    if [ -n "$side" ]; then
        for name in * .[!.]*; do
            ! is_swapped "$name" || put_in_place "$stage/$side" "$name" || return 1
        done
        sync . || return 1
    fi
    rm -rf "$stage"
}

digests() { # digests NAME...: a line for each file
    for name in "$@"; do
        if [ -f "$name" ]; then sha256sum < "$name"; else echo absent; fi
    done
}

is_as_seen() { # is_as_seen DIGEST NAME...
    wanted=$1
    shift
    found=$(digests "$@" | sha256sum)
    [ "${found%% *}" = "$wanted" ]
}

refuse_full() { # the files lie there twice for a moment: all of stdin, and one by one
    set -- $(df -Pk . 2> /dev/null | tail -n 1)
    [ $# -ge 6 ] || return 0
    case $2$4 in *[!0-9]*) return 0 ;; esac
    needed=$(((2 * total + 1023) / 1024))
    [ "$2" -eq 0 ] || [ "$needed" -le "$4" ] || refuse 56 "$needed $4"
}

receive() { # stores all of stdin, so that what a lost connection cut off is never used
    mkdir "$stage" "$stage/old" "$stage/new" || return 1
    # an owner outside the folder's group would lose setgid by a chmod
    [ "$of_files" = 0640 ] || chmod 0700 "$stage" "$stage/old" "$stage/new" || return 1
    cat > "$stage/all" || return 1
    [ "$(wc -c < "$stage/all")" -eq "$total" ] || { torn=yes; return 1; }
}

stage_files() {
    offset=1
    while [ $# -gt 0 ]; do
        if [ "$2" != - ]; then
            tail -c "+$offset" "$stage/all" 2> /dev/null | head -c "$2" > "$stage/new/$1" || return 1
            [ "$(wc -c < "$stage/new/$1")" -eq "$2" ] || { echo "No space left on device" >&2; return 1; }
            share_file "$1" "$stage/new/$1" && sync "$stage/new/$1" || return 1
            offset=$((offset + $2))
        fi
        shift 2
    done
    rm -f "$stage/all" && sync "$stage/new"
}

keep() { # as a hard link, or a copy where the file's owner forbids links
    [ -e "$1" ] || return 0
    ln -- "$1" "$stage/old/$1" 2> /dev/null && return 0
    cp -- "$1" "$stage/old/$1" && share_file "$1" "$stage/old/$1" && sync "$stage/old/$1"
}

link_up() { # each file becomes a link to the same bytes, an absent one a dangling link
    for name in "$@"; do
        keep "$name" || return 1
    done
    ln -s old "$stage/live" && sync "$stage/old" && sync "$stage" || return 1
    for name in "$@"; do
        ln -s "$stage/live/$name" "$stage/next" && mv -f -T "$stage/next" "$name" || return 1
    done
    sync .
}

swap() {
    if [ $# -gt 1 ]; then
        link_up "$@" || return 1
        ln -s new "$stage/next" && mv -f -T "$stage/next" "$stage/live" || return 1
        moved=yes
        sync "$stage" || return 1
    fi
    for name in "$@"; do
        put_in_place "$stage/new" "$name" || return 1
        moved=yes
    done
    sync .
}

failed() {
    finish 2> /dev/null && [ -n "$moved" ] && sync . && exit 0
    [ -z "$moved" ] || exit 53
    [ -z "$torn" ] || exit 52
    exit 50
}

torn='' moved='' names=''
pairs=$#
finish || exit 50
set -f
is_as_seen $seen || exit 51
[ "$pairs" -gt 0 ] || exit 0
take=yes
for word in "$@"; do
    [ -z "$take" ] || names="$names $word"
    [ -n "$take" ] && take='' || take=yes
done
for name in $names; do
    case $name in */* | .pooldeck | . | ..) refuse 49 "$name" ;; esac
    [ ! -L "$name" ] || refuse 42 "$name"
    [ ! -e "$name" ] || [ -f "$name" ] || refuse 42 "$name"
done
refuse_full
set +f
receive || failed
trap '' HUP INT TERM PIPE # what follows no longer needs the connection
stage_files "$@" || failed
swap $names || failed
finish || exit 53
