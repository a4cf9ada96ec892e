# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Completes tablefuse's command line in bash, with the package bash-completion. It asks no service and touches no mount,
# because a mount that is stopped or waits for its service would hold the shell. So it offers no tables.

# Prints the mount points of tablefuse, quoted for the shell, and spelled as $cur begins: from /, ~ or the working directory.
# In the kernel's list some characters are \OCTAL. It is read at once: `read` seeks back after each line, and the kernel then
# leaves lines out where another mount ends meanwhile.
_tablefuse_mount_points() # [FORMAT]
{
    local point type from=/ spelled=/
    case $cur in
        '' | /*) ;;
        \~/*) from=${HOME%/}/ spelled=\~/ ;;
        *)
            from=$(pwd -P)
            from=${from%/}/ spelled=''
            [[ $cur == ./* ]] && spelled=./
            ;;
    esac
    while read -r _ point type _; do
        printf -v point %b "$point"
        # in an open quote some characters would end it
        [ -z "${1-}" ] || [[ $point != *[\"\'\\\$\`$'\n']* ]] || continue
        # shellcheck disable=SC2059
        [[ $type == fuse.tablefuse && $point == "$from"?* ]] && printf "${1-%s%q\\n}" "$spelled" "${point#"$from"}"
    done <<<"$(</proc/self/mounts)"
}

# Offers the words that continue $cur. For readline a word may begin behind a `=` or `:`.
_tablefuse_offer() # WORD...
{
    local word mark before=''
    for mark in = :; do
        [[ $COMP_WORDBREAKS == *"$mark"* && $cur == *"$mark"* ]] || continue
        word=${cur%"$mark"*}$mark
        [ ${#word} -gt ${#before} ] && before=$word
    done
    for word; do
        [[ $word == "$cur"* ]] && COMPREPLY+=("${word#"$before"}")
    done
    # where something follows, the shell adds no blank
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=:/] ]]; then
        compopt -o nospace
    fi
}

_tablefuse_offer_mount_points() # [SUFFIX]
{
    local points=() cur=$cur format=()
    [[ $cur == [\"\']* ]] && cur=${cur:1} format=('%s%s\n')
    mapfile -t points < <(_tablefuse_mount_points "${format[@]}")
    _tablefuse_offer "${points[@]/%/${1-}}"
}

_tablefuse_files() # BEGINNING
{
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_tablefuse_directories()
{
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -d -- "$cur")
}

# The values of -o: options with commas between.
_tablefuse_mount_options() # OPTION...
{
    local before='' option words=()
    [[ $cur == *,* ]] && before=${cur%,*},
    case ${cur##*,} in
        layout=*) set -- layout=auto layout=flat ;;
        conflict=*) set -- conflict=refuse conflict=overwrite ;;
        auth=* | from.auth=* | to.auth=*)
            option=${cur##*,}
            option=${option%%=*}
            set -- "$option=msi" "$option=workload" "$option=spn" "$option=azcli"
            ;;
        ca_cert=* | credentials=* | from.credentials=* | to.credentials=*)
            _tablefuse_files "${cur##*=}"
            return
            ;;
    esac
    for option; do
        words+=("$before$option")
    done
    _tablefuse_offer "${words[@]}"
}

_tablefuse_source()
{
    if [[ $cur == local:* ]]; then
        _tablefuse_files "${cur#local:}"
    else
        _tablefuse_offer emulator local:
    fi
}

_tablefuse()
{
    local cur prev words cword verb i operands=0 flags=()
    local valued='^(-o|-t|--output|--max-delete|--columns|--delimiter|--filter|--select|--depth|--svg|--part|-n)$'
    local verbs=(mount unmount drop export import count map diff sync split join tables check version help)
    local of_both=(timeout= parallelism= ca_cert= allow_http)
    local of_two=("${of_both[@]}" from.auth= to.auth= from.credentials= to.credentials=)
    local options=("${of_both[@]}" auth= credentials= table=)
    _init_completion -n := || return
    if [ "$cword" = 1 ]; then
        _tablefuse_offer "${verbs[@]}" --help --version
        return
    fi
    verb=${words[1]}
    for ((i = 2; i < cword; i++)); do
        [[ ${words[i]} == -* || ${words[i - 1]} =~ $valued ]] || operands=$((operands + 1))
    done
    case $verb in
        mount)
            flags=(-f -o)
            options+=(ttl= cache_size= pending_size= max_nodes= layout= fanout= uid= gid= umask= allow_other
                allow_updatedb ro create conflict= scratch= writeback no_table_drop)
            ;;
        unmount | umount) flags=(-z -t) ;;
        drop) flags=(--yes -t) ;;
        export)
            flags=(--filter --select --keys --etag --timestamp --output --resume --format=csv --columns --delimiter
                --part --skip-done --quiet -o)
            ;;
        import)
            flags=(--mode=replace --mode=merge --mode=insert --mode=delete --any-version --create --refused= --dry-run
                --format=csv --infer --delimiter --quiet -o)
            ;;
        count) flags=(--filter --part --quiet -o) ;;
        split) flags=(-n --exact --quiet -o) ;;
        join) flags=(--filter --select --keys --etag --timestamp --missing) ;;
        map) flags=(--depth --json --svg --sizes --quiet -o) ;;
        diff) flags=(--json --quiet -o) options=("${of_two[@]}") ;;
        sync)
            flags=(--delete --delete=all --max-delete --dry-run --create --quiet -o)
            options=("${of_two[@]}")
            ;;
        tables | check) flags=(-o) ;;
        help) [ "$operands" = 0 ] && _tablefuse_offer "${verbs[@]}" ;;
    esac
    case $prev in
        -o)
            _tablefuse_mount_options "${options[@]}"
            return
            ;;
        --output | --svg)
            _tablefuse_files "$cur"
            return
            ;;
        -t | --max-delete | --columns | --delimiter | --depth) return ;;
    esac
    case $verb:$cur in
        help:* | version:*) ;;
        export:--output=* | map:--svg=* | import:--refused=*) _tablefuse_files "${cur#*=}" ;;
        *:-*) _tablefuse_offer "${flags[@]}" --help ;;
        mount:*)
            [ "$operands" = 0 ] && _tablefuse_source
            [ ${#COMPREPLY[@]} != 0 ] || _tablefuse_directories
            ;;
        unmount:* | umount:*) _tablefuse_offer_mount_points ;;
        drop:*) _tablefuse_offer_mount_points / ;;
        *) [ "$operands" -lt 2 ] && _tablefuse_source ;;
    esac
} && complete -F _tablefuse tablefuse
