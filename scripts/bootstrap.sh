# Shared by scripts/run and scripts/test: makes .venv, and finds what is missing before it becomes a stack trace.
# shellcheck shell=bash disable=SC2154
# Expects `root`, the repository. Nothing outside "$root/.venv" is changed, except that as root on Debian or Ubuntu
# missing system packages are installed; anybody else is shown the command.

venv="$root/.venv"
stamp="$venv/relpos-viewer.stamp"
torch_cpu_index="https://download.pytorch.org/whl/cpu"

say() { printf 'relpos-viewer: %s\n' "$*" >&2; }
fail() {
    say "$*"
    exit 1
}

# debian_install PACKAGE… installs as root on Debian or Ubuntu; for anybody else it returns 1.
debian_install() {
    [ "$(id -u)" = 0 ] && [ -e /etc/debian_version ] && command -v apt-get >/dev/null || return 1
    say "installing $*"
    {
        DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
            DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@"
    } >&2 </dev/null
}

# --- Python ---------------------------------------------------------------------------------------------------------

# find_python prints the first Python that is new enough; PYTHON=… names one.
find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11 python3.14; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    fail "no Python 3.11 or newer found; on Debian 12, Ubuntu 24.04 or newer run: sudo apt-get install python3" \
        "python3-venv; or name one: PYTHON=/path/to/python3 $0"
}

make_venv() {
    local python version
    python=$(find_python)
    if ! "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
        version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
        debian_install "$version-venv" || fail "$version has no venv module; run: sudo apt-get install $version-venv"
    fi
    say "making .venv with $("$python" --version)"
    "$python" -m venv --clear "$venv"
}

# The stamp's first line changes when the environment itself is no longer good (another Python behind it, or the
# repository was moved), the second when other versions are wanted. The third says how much is installed.
environment_now() { printf '%s %s\n' "$(readlink -f "$venv/bin/python" || echo none)" "$root"; }
versions_now() { cat "$root/pyproject.toml" "$root/constraints.txt" | cksum; }

# install_once run|test makes .venv hold the program, or the program and its test tools, unless it does already.
install_once() {
    local wanted=$1 environment="" versions="" level="" what=.
    if [ -e "$stamp" ]; then
        { read -r environment && read -r versions && read -r level; } <"$stamp" || true
    fi
    if [ "$environment" = "$(environment_now)" ] && [ "$versions" = "$(versions_now)" ] &&
        { [ "$level" = "$wanted" ] || [ "$level" = test ]; }; then
        return
    fi
    # Gone while pip works: an installation that was interrupted is begun again from nothing.
    rm -f "$stamp"
    [ "$environment" = "$(environment_now)" ] || make_venv
    install_cpu_torch
    say "installing the pinned versions (a minute or two, this once)"
    [ "$wanted" = run ] || what='.[test]'
    (cd "$root" && "$venv/bin/python" -m pip install -q --disable-pip-version-check -c constraints.txt -e "$what")
    {
        environment_now
        versions_now
        echo "$wanted"
    } >"$stamp.new"
    mv "$stamp.new" "$stamp"
}

# PyPI's torch for Linux on x86-64 brings gigabytes of CUDA libraries. Where no NVIDIA driver could use them, and the
# package index that pip is set up with has no CPU build of that version, the build comes from PyTorch's own index.
install_cpu_torch() {
    local version
    version=$(sed -n 's/^torch==//p' "$root/constraints.txt")
    [ "$(uname -sm)" = "Linux x86_64" ] || return 0
    ! command -v nvidia-smi >/dev/null || return 0
    ! "$venv/bin/python" -m pip show -q torch 2>/dev/null || return 0
    ! "$venv/bin/python" -m pip index versions torch 2>/dev/null | grep -F "$version+cpu" >/dev/null || return 0
    say "fetching the CPU build of torch $version"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps \
        --retries 1 --index-url "$torch_cpu_index" "torch==$version" ||
        say "the CPU build of torch is out of reach; taking the package index's own, which may be several GB"
}

# --- System libraries -----------------------------------------------------------------------------------------------

# debian_package LIBRARY prints the Debian package that holds a library of Qt's.
debian_package() {
    case $1 in
    libEGL.so.*) echo libegl1 ;;
    libGL.so.*) echo libgl1 ;;
    libGLX.so.*) echo libglx0 ;;
    libOpenGL.so.*) echo libopengl0 ;;
    libX11-xcb.so.*) echo libx11-xcb1 ;;
    libX11.so.*) echo libx11-6 ;;
    libxcb.so.*) echo libxcb1 ;;
    libxcb-util.so.*) echo libxcb-util1 ;;
    libxcb-icccm.so.*) echo libxcb-icccm4 ;;
    libxcb-keysyms.so.*) echo libxcb-keysyms1 ;;
    libxcb-sync.so.*) echo libxcb-sync1 ;;
    libxcb-xkb.so.*) echo libxcb-xkb1 ;;
    libxcb-*.so.0) echo "${1%.so.0}0" ;; # cursor, image, randr, render, render-util, shape, shm, xfixes …
    libxkbcommon.so.*) echo libxkbcommon0 ;;
    libxkbcommon-x11.so.*) echo libxkbcommon-x11-0 ;;
    libdbus-1.so.*) echo libdbus-1-3 ;;
    libfontconfig.so.*) echo libfontconfig1 ;;
    libfreetype.so.*) echo libfreetype6 ;;
    libglib-2.0.so.* | libgthread-2.0.so.*) echo libglib2.0-0 ;;
    libwayland-client.so.*) echo libwayland-client0 ;;
    libzstd.so.*) echo libzstd1 ;;
    libz.so.*) echo zlib1g ;;
    esac
}

# missing_libraries prints the shared libraries that Qt's windows need and the system lacks.
missing_libraries() {
    local qt
    for qt in "$venv"/lib/python3.*/site-packages/PySide6/Qt; do
        ldd "$qt/plugins/platforms/libqxcb.so" "$qt/plugins/platforms/libqoffscreen.so" "$qt/lib/libQt6Widgets.so.6" \
            2>/dev/null | awk '/not found/ { print $1 }' | sort -u
    done
}

# need_qt_libraries checks at every start: it takes 0.05 s, and a folder may be shared between machines.
need_qt_libraries() {
    local library package packages=() unknown=()
    [ "$(uname -s)" = Linux ] && command -v ldd >/dev/null || return 0
    for library in $(missing_libraries); do
        package=$(debian_package "$library")
        if [ -z "$package" ]; then
            unknown+=("$library")
        elif [[ " ${packages[*]} " != *" $package "* ]]; then
            packages+=("$package")
        fi
    done
    # Without any font every letter is an empty box.
    if ! command -v fc-list >/dev/null; then
        packages+=(fontconfig fonts-dejavu-core)
    elif [ -z "$(fc-list : family | head -n 1)" ]; then
        packages+=(fonts-dejavu-core)
    fi
    if [ ${#packages[@]} -gt 0 ]; then
        debian_install "${packages[@]}" ||
            fail "system libraries for the window are missing; on Debian or Ubuntu run:" \
                "sudo apt-get update && sudo apt-get install ${packages[*]}"
    fi
    if [ ${#unknown[@]} -gt 0 ]; then
        fail "Qt needs ${unknown[*]}, which this system lacks; install the package that holds it"
    fi
}
