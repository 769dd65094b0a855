# Shared by the scripts: keeps virtual environments in sync with their locks and the native code with its sources, and
# installs system commands.
#
# Sourced by its full path, never run. Nothing here may export a name that begins with TENAX_: Tenax reads its settings
# from such names and refuses unknown ones.

root=${BASH_SOURCE[0]%/*/*}
native=$root/src/tenax/extract/native

fail() {
  _end_steps
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  exit 1
}

# provide_venv DIRECTORY LOCK: installs locks/LOCK.txt into DIRECTORY. Costs one `cmp` when it is up to date.
provide_venv() {
  _is_current "$1" "$2" || _set_up "$1" "$2"
}

# provide_extras [NAME…]: installs these extras of pyproject.toml into .venv, and updates installed ones to their locks.
# Costs nothing when no lock is newer than its installation.
provide_extras() {
  local name stamp lock
  for name in "$@"; do
    [[ -e $root/locks/extra-$name.txt ]] || fail "there is no extra called $name"
    provide_venv .venv "extra-$name"
  done
  for stamp in "$root"/.venv/extra-*.installed; do
    name=${stamp##*/}
    name=${name%.installed}
    lock=$root/locks/$name.txt
    [[ -e $stamp && $lock -nt $stamp ]] || continue
    provide_venv .venv "$name"
    touch -- "$stamp" 2>/dev/null || true # the same lock, rewritten
  done
}

# The stamp is a copy of the installed lock, so any change is detected. The interpreter is checked as well: its link
# breaks when that Python is removed from the machine.
_is_current() {
  [[ -x $root/$1/bin/python ]] && cmp -s -- "$root/locks/$2.txt" "$root/$1/$2.installed"
}

_set_up() {
  local venv=$root/$1 lock=$root/locks/$2.txt log=$root/$1.log python
  python=$(_find_python) || exit 1
  { exec 9>>"$venv.lock"; } 2>/dev/null || fail "cannot write to $root: use a copy that belongs to you"
  # A script started at the same moment waits here. Python locks the open file, because not every system has a `flock`
  # command; the lock is released when the file is closed, however the script ends.
  "$python" -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)'
  if ! _is_current "$1" "$2"; then
    _say_what_begins "$1" "$2"
    _create "$python" "$venv" "$log"
    _say_step "installing $(grep -c '==' "$lock") packages of locks/$2.txt"
    _install "$python" "$venv" "$lock" "$log"
    _end_steps
    cp -- "$lock" "$venv/$2.installed"
    rm -f -- "$log"
  fi
  exec 9>&-
}

_say_what_begins() {
  if [[ $2 == extra-* && -e $root/$1/made && ! -e $root/$1/$2.installed ]]; then
    echo "Installing the extra \`${2#extra-}\` (first use)…" >&2
  elif [[ -e $root/$1/made ]]; then
    echo "Updating $1 to locks/$2.txt…" >&2
  else
    echo "Setting up $([[ $1 == .venv ]] && echo Tenax || echo "$1") (first use)…" >&2
  fi
}

# One line per step. On a terminal it ends with the current action.
_say_step() {
  printf '  %s' "$1" >&2
  step=$1
  [[ -t 2 ]] || echo >&2
}

_end_steps() {
  [[ -z ${step:-} || ! -t 2 ]] || printf '\r\033[K  %s\n' "$step" >&2
  step=""
}

# Reads pip's output, writes it to the log $1, and shows the current package at the end of the step's line.
_show_packages() {
  local line number=0
  while IFS= read -r line; do
    printf '%s\n' "$line"
    [[ -t 2 ]] || continue
    case $line in
    Collecting\ * | Processing\ *) # a name, or the path of a file
      line=${line#* } && line=${line%% (*} && line=${line##*/}
      printf '\r\033[K  %s: %d %s' "$step" $((++number)) "${line%%[-=][=0-9]*}" >&2
      ;;
    Installing\ *) printf '\r\033[K  %s: writing files' "$step" >&2 ;;
    esac
  done >"$1"
}

# Prints the path of a Python that is new enough. If $PYTHON is set, only that one is considered.
_find_python() {
  local name found too_old="" says='import os, sys
print(os.path.realpath(sys.executable) if sys.version_info >= (3, 11) else sys.version.split()[0])'
  local names=(python3 python3.14 python3.13 python3.12 python3.11 python)
  [[ -n ${PYTHON:-} ]] && names=("$PYTHON")
  for name in "${names[@]}"; do
    found=$("$name" -I -c "$says" 2>/dev/null) || continue
    [[ $found == /* ]] && printf '%s\n' "$found" && return
    too_old=${too_old:-$found}
  done
  fail "Tenax needs Python 3.11 or newer, found ${too_old:-none}: install it, or name one as PYTHON=/path/to/python3"
}

# The venv uses the interpreter's real path, not `python3`: when the system moves to another version, the link breaks
# and the venv is created again instead of losing its packages.
_create() {
  local python=$1 venv=$2 log=$3
  [[ -x $venv/bin/python && -e $venv/made ]] && return
  rm -rf -- "$venv"
  _say_step "making ${venv##*/} with $python"
  "$python" -I -m venv --without-pip "$venv" >"$log" 2>&1 ||
    fail "$python cannot make a virtual environment: $(_last_line "$log")"
  touch "$venv/made"
  _end_steps
}

# Wheels only: building from source would need tools that no lock names. Modules are compiled on first use; most are
# never used.
_install() {
  local python=$1 venv=$2 lock=$3 log=$4
  local pip=("$python" -I -m pip --python "$venv/bin/python")
  # Use the machine's pip if it supports --python; installing another takes seconds.
  if ! "${pip[@]}" --version >/dev/null 2>&1; then
    pip=("$venv/bin/python" -I -m pip)
    "${pip[@]}" --version >/dev/null 2>&1 || "$venv/bin/python" -I -m ensurepip >"$log" 2>&1 ||
      fail "$python has neither pip nor ensurepip: install one (Debian and Ubuntu: apt-get install python3-venv)"
  fi
  PIP_USER=0 "${pip[@]}" install --require-hashes --no-deps --only-binary :all: --no-compile \
    --disable-pip-version-check --no-input --retries 2 --requirement "$lock" 2>&1 | _show_packages "$log" && return
  if grep -qiE 'connection broken|failed to establish|name resolution|network is unreachable|timed out' "$log"; then
    fail "set-up needs the network, and the package index does not answer: connect and try again (details: $log)"
  elif grep -q 'DO NOT MATCH THE HASHES' "$log"; then
    fail "a downloaded package is not the one that $lock names: nothing was installed (details: $log)"
  fi
  fail "set-up failed: $(grep -m1 '^ERROR' "$log" || _last_line "$log") (details: $log)"
}

_last_line() {
  tail -n 1 -- "$1"
}

# provide_native: compiles the native code of extraction. Without a compiler one line says so, once. Needs the .venv. Costs
# one `stat` when nothing has changed. If it fails, Tenax runs without native code.
provide_native() {
  _native_is_current || _build_native || true
}

# require_native: like provide_native, but fails without native code. The tests need it.
require_native() {
  [[ -n $(_compilers) ]] || provide_command cc gcc libc6-dev
  provide_native 2>/dev/null
  _has_native || fail "the tests need the native code: $(_run_build)"
}

# The stamp lists the compiled sources, and the modules whose constants they use, with their sizes and times. After a
# failure it also lists the compilers: a new one is tried, and those that failed are not tried at every start.
_native_is_current() {
  local stamp=$root/.venv/native.tried compilers=""
  _has_native || compilers=$(_compilers)
  [[ -e $stamp && $(<"$stamp") == "$(_native_sources)$compilers" ]]
}

_native_sources() {
  local file files=()
  for file in "$native"/*.[ch] "$root"/src/tenax/{model,text,extract,extract/*}/*.py; do
    # That header is generated from the modules.
    [[ $file == */constants.h || ! -e $file ]] || files+=("$file")
  done
  stat -c '%n %s %y' -- "${files[@]}"
}

_has_native() {
  local libraries=("$native"/libtenax-*.so)
  [[ -e ${libraries[0]} ]]
}

# Prints the path of each C compiler found. The last one is a Python package.
_compilers() {
  local wanted=${CC:-}
  type -P ${wanted%% *} cc gcc clang || true
  compgen -G "$root/.venv/lib/python*/site-packages/ziglang" || true
}

_build_native() {
  local sources why status=0 compilers=""
  if ! { exec 9>>"$root/.venv.lock"; } 2>/dev/null; then
    _say_slower "cannot write to $root"
    return
  fi
  "$root/.venv/bin/python" -I -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)'
  if ! _native_is_current; then
    # Taken before compiling: sources that change meanwhile are out of date at the next start.
    sources=$(_native_sources)
    [[ -z $(_compilers) ]] || echo "Compiling the native code…" >&2
    why=$(_run_build) || status=$?
    _has_native || compilers=$(_compilers)
    printf '%s' "$sources$compilers" >"$root/.venv/native.tried"
    case $status in
    0) ;;
    3) _say_slower "$why. Install one, and it will be used (Debian and Ubuntu: apt-get install gcc libc6-dev)" ;;
    *) _say_slower "$why" ;;
    esac
  fi
  exec 9>&-
}

# Prints the error, if any.
_run_build() {
  "$root/.venv/bin/python" -I "$native/build.py" 2>&1 >/dev/null
}

_say_slower() {
  echo "Pages will be extracted in Python, at several times the cost: $1" >&2
}

# provide_command COMMAND PACKAGE…: makes sure that COMMAND is on PATH; installs PACKAGE as root on Debian, else fails.
provide_command() {
  local command=$1
  shift
  PATH=$PATH:/usr/sbin
  command -v "$command" >/dev/null && return
  if [[ $EUID -ne 0 ]] || ! command -v apt-get >/dev/null; then
    fail "$command is not on PATH: install it (Debian and Ubuntu: apt-get install $*)"
  fi
  echo "Installing $*…" >&2
  # Fetch the package list only if the package is unknown.
  _apt_install "$@" || { apt-get update >"$root/.apt.log" 2>&1 && _apt_install "$@"; } ||
    fail "apt-get could not install $*: $(_last_line "$root/.apt.log")"
}

_apt_install() {
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >"$root/.apt.log" 2>&1
}
