# shellcheck shell=bash disable=SC2034
# Installs what quickstart and check need on a Debian machine, and builds. It is sourced, not run.
# The working directory is the repository, of which only the directory build/ is written to.

# The packages that meson.build needs, those for using a mount, those for any part of the check, for mount tests,
# for engines over several machines, for the Debian package, for arm64, for the container, and for clang's sanitizers.
build_packages=(gcc libc6-dev meson ninja-build pkg-config libfuse3-dev libcurl4-openssl-dev
    libssl-dev libcjson-dev libsqlite3-dev libdeflate-dev libcsv-dev libcmocka-dev libbsd-dev)
use_packages=(fuse3 jq grep findutils ca-certificates)
check_packages=(python3 procps util-linux mount)
mount_packages=(python3-pytest python3-pytest-timeout python3-pytest-xdist python3-hypothesis openssl bash-completion
    borgbackup busybox dos2unix gawk git gzip man-db miller moreutils nano openssh-client openssh-server parallel patch perl-base
    plocate rclone restic rsync scdoc sqlite3 systemd tar unison vim-tiny xz-utils yq zsh)
cluster_packages=(slurm-wlm)
package_packages=(debhelper dpkg-dev lintian)
arm64_packages=(lintian mmdebstrap)
container_packages=(buildah mmdebstrap)
clang_packages=(clang llvm libclang-rt-14-dev)

emulator=build/emulator # npm installs the table service and its SDK here
azurite=$emulator/node_modules/azurite/dist/src/table/main.js

fail() # MESSAGE
{
    printf '%s: %s\n' "$0" "$1" >&2
    exit 1
}

as_root() # COMMAND...
{
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "this needs root, and sudo is not installed; run as root: ${root_hint:-$*}"
    fi
}

is_installed() # PACKAGE
{
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

install_packages() # PACKAGE...
{
    local missing=() package
    command -v apt-get >/dev/null || fail "there is no apt-get; install these packages yourself: $*"
    for package; do
        is_installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return
    echo "Installing ${missing[*]}"
    # its program is for a test: Debian starts no server where this file is, until somebody removes it
    [[ " ${missing[*]} " != *" openssh-server "* ]] || as_root install -D -m 644 /dev/null /etc/ssh/sshd_not_to_be_run
    local root_hint="apt-get update && apt-get install ${missing[*]}"
    as_root apt-get update -qq || fail 'apt-get update failed; check the network connection'
    as_root env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes apt-get install -qq -y --no-install-recommends \
        -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null ||
        fail "apt-get could not install: ${missing[*]}"
}

# A Node that does not come from Debian has its own npm. Debian's packages would conflict with it.
install_node()
{
    if ! command -v node >/dev/null; then
        install_packages nodejs npm
    elif ! command -v npm >/dev/null; then
        install_packages npm
    fi
    node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' ||
        fail "$(command -v node) is too old; install version 18 or newer"
}

# Installs Azurite, and the SDK for tables and queues, in the versions of package-lock.json.
install_emulator()
{
    cmp -s contrib/emulator/package-lock.json "$emulator/installed-lock.json" && return
    install_node
    echo "Installing Azurite into $emulator"
    { mkdir -p "$emulator" && cp contrib/emulator/package*.json "$emulator"; } ||
        fail "cannot write to $emulator; check its permissions"
    npm ci --prefix "$emulator" --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null ||
        fail 'npm ci failed; check the network connection'
    cp contrib/emulator/package-lock.json "$emulator/installed-lock.json"
}

configure() # DIRECTORY MESON-OPTION...
{
    local directory=$1 log
    shift
    [ -f "$directory/build.ninja" ] && return
    mkdir -p build
    log=build/setup.log
    meson setup "$directory" "$@" >"$log" 2>&1 || { cat "$log"; return 1; }
}

compile() # DIRECTORY TARGET...
{
    ninja -C "$1" --quiet "${@:2}"
}
