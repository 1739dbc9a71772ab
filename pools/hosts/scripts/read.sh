# Prints files of a configuration folder. usage: read.sh FOLDER BOUNDARY MOST_BYTES NAME...
# First `uid of the account, facts of the folder`; then each file's bytes, a line break, BOUNDARY, a space, and what
# it is: file, absent, special, dangling (a link of an interrupted swap) or unreadable. Links of a swap are followed.
LC_ALL=C
export LC_ALL
folder=$1 boundary=$2 most=$3
shift 3
[ -L "$folder" ] && exit 41
[ -d "$folder" ] || exit 44
cd -P -- "$folder" || exit 43
listed=$(ls -ldn .) || exit 43
(set -f; set -- $listed; echo "$(id -u) $1 $3")

is_swapped() {
    [ -L "$1" ] || return 1
    case $(ls -ldn -- "$1") in *" -> .pooldeck/live/$1") return 0 ;; esac
    return 1
}

side() {
    case $(ls -ldn .pooldeck/live 2> /dev/null) in
        *" -> old") echo .pooldeck/old ;;
        *" -> new") echo .pooldeck/new ;;
        *) return 1 ;;
    esac
}

print_plain() { # print_plain PATH: prints it, and sets `what`
    if [ -L "$1" ]; then what=special
    elif [ ! -e "$1" ]; then what=absent
    elif [ ! -f "$1" ]; then what=special
    elif head -c "$most" < "$1" 2> /dev/null; then what=file
    else what=unreadable
    fi
}

print_one() {
    for _ in 1 2 3 4 5; do
        if ! is_swapped "$1"; then
            [ ! -L "$1" ] || { is_swapped "$1" && continue; what=special; return; }
            print_plain "$1"
            return
        fi
        if at=$(side); then
            [ -e "$at/$1" ] || { is_swapped "$1" && [ "$(side)" = "$at" ] && { what=absent; return; }; continue; }
            print_plain "$at/$1"
            return
        fi
    done
    what=dangling
}

for name in "$@"; do
    print_one "$name"
    printf '\n%s %s\n' "$boundary" "$what"
done
