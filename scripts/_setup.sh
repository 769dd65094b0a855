# Shared by the scripts: keeps virtual environments equal to their locks and the kernel to its sources, and provides
# commands of the system.
#
# Sourced by its full path, never run. Nothing here may export a name that begins with TENAX_, because Tenax reads
# its settings from such names and refuses those it does not know.

root=${BASH_SOURCE[0]%/*/*}
kernel=$root/src/tenax/extract/native

fail() {
  _end_steps
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  exit 1
}

# provide_venv DIRECTORY LOCK: DIRECTORY holds what locks/LOCK.txt names. Costs one `cmp` when it already does.
provide_venv() {
  _is_current "$1" "$2" || _set_up "$1" "$2"
}

# provide_extras [NAME…]: .venv holds these extras of pyproject.toml too, and those it had before are as their locks say.
# Costs nothing when no lock is newer than what was installed of it.
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
    touch -- "$stamp" 2>/dev/null || true # the same lock, written again
  done
}

# The stamp is a copy of the installed lock, so that any change shows. The interpreter is checked as well: its link
# breaks when that Python is removed from the machine.
_is_current() {
  [[ -x $root/$1/bin/python ]] && cmp -s -- "$root/locks/$2.txt" "$root/$1/$2.installed"
}

_set_up() {
  local venv=$root/$1 lock=$root/locks/$2.txt log=$root/$1.log python
  python=$(_find_python) || exit 1
  { exec 9>>"$venv.lock"; } 2>/dev/null || fail "cannot write to $root: use a copy that belongs to you"
  # Whoever starts at the same moment waits here. Python takes the lock on the file we hold open, because not every
  # system has a `flock` command; it is ours until the file is closed, however we end.
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
    echo "Bringing $1 up to locks/$2.txt…" >&2
  else
    echo "Setting up $([[ $1 == .venv ]] && echo Tenax || echo "$1") (first use)…" >&2
  fi
}

# A line for each step. On a terminal it ends with what is being done at the moment.
_say_step() {
  printf '  %s' "$1" >&2
  step=$1
  [[ -t 2 ]] || echo >&2
}

_end_steps() {
  [[ -z ${step:-} || ! -t 2 ]] || printf '\r\033[K  %s\n' "$step" >&2
  step=""
}

# Reads pip's output, keeps it in the log $1, and shows the package in work at the end of the step's line.
_show_packages() {
  local line number=0
  while IFS= read -r line; do
    printf '%s\n' "$line"
    [[ -t 2 ]] || continue
    case $line in
    Collecting\ * | Processing\ *) # by its name, or as the path of a file
      line=${line#* } && line=${line%% (*} && line=${line##*/}
      printf '\r\033[K  %s: %d %s' "$step" $((++number)) "${line%%[-=][=0-9]*}" >&2
      ;;
    Installing\ *) printf '\r\033[K  %s: writing files' "$step" >&2 ;;
    esac
  done >"$1"
}

# Prints the path of a Python that is new enough. $PYTHON, when set, is the only one considered.
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

# The venv is made by the interpreter's own path, not by `python3`: when the system moves to another version, the
# link breaks and the venv is made anew instead of losing its packages.
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

# Wheels only: building from source would bring in tools that no lock names. Modules are compiled when they are first
# used; most never are.
_install() {
  local python=$1 venv=$2 lock=$3 log=$4
  local pip=("$python" -I -m pip --python "$venv/bin/python")
  # The machine's own pip saves the seconds that installing another takes, if it is new enough to know --python.
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

# provide_kernel: the C files that read pages are compiled, where there is a compiler; else one line says that there is
# none, once. Needs the .venv. Costs one `stat` when nothing has changed. Whatever fails, Tenax runs without.
provide_kernel() {
  _kernel_is_current || _build_kernel || true
}

# require_kernel: provide_kernel, and whoever tests Tenax cannot do without.
require_kernel() {
  [[ -n $(_compilers) ]] || provide_command cc gcc libc6-dev
  provide_kernel 2>/dev/null
  _has_kernel || fail "the tests need the kernel: $(_run_build)"
}

# The stamp says which sources were compiled, by their sizes and times. Where that failed, it says by which compilers: a
# new one is tried, and those that are known to fail are not tried at every start.
_kernel_is_current() {
  local stamp=$root/.venv/kernel.tried compilers=""
  _has_kernel || compilers=$(_compilers)
  [[ -e $stamp && $(<"$stamp") == "$(_kernel_sources)$compilers" ]]
}

_kernel_sources() {
  stat -c '%n %s %y' -- "$kernel"/*.[ch] "$kernel/build.py"
}

_has_kernel() {
  local libraries=("$kernel"/libtenax-*.so)
  [[ -e ${libraries[0]} ]]
}

# Prints the path of each C compiler that there is. The last is one that comes as a Python package.
_compilers() {
  local wanted=${CC:-}
  type -P ${wanted%% *} cc gcc clang || true
  compgen -G "$root/.venv/lib/python*/site-packages/ziglang" || true
}

_build_kernel() {
  local sources why status=0 compilers=""
  if ! { exec 9>>"$root/.venv.lock"; } 2>/dev/null; then
    _say_slower "cannot write to $root"
    return
  fi
  "$root/.venv/bin/python" -I -c 'import fcntl; fcntl.flock(9, fcntl.LOCK_EX)'
  if ! _kernel_is_current; then
    # As they are now: who writes to them while they are compiled finds them out of date at the next start.
    sources=$(_kernel_sources)
    [[ -z $(_compilers) ]] || echo "Compiling what reads pages…" >&2
    why=$(_run_build) || status=$?
    _has_kernel || compilers=$(_compilers)
    printf '%s' "$sources$compilers" >"$root/.venv/kernel.tried"
    case $status in
    0) ;;
    3) _say_slower "$why. Install one, and it will be used (Debian and Ubuntu: apt-get install gcc libc6-dev)" ;;
    *) _say_slower "$why" ;;
    esac
  fi
  exec 9>&-
}

# Prints why it failed, if it did.
_run_build() {
  "$root/.venv/bin/python" -I "$kernel/build.py" 2>&1 >/dev/null
}

_say_slower() {
  echo "Pages will be read in Python, at several times the cost: $1" >&2
}

# provide_command COMMAND PACKAGE…: COMMAND is on PATH; root on Debian gets PACKAGE installed, others are told.
provide_command() {
  local command=$1
  shift
  PATH=$PATH:/usr/sbin
  command -v "$command" >/dev/null && return
  if [[ $EUID -ne 0 ]] || ! command -v apt-get >/dev/null; then
    fail "$command is not on PATH: install it (Debian and Ubuntu: apt-get install $*)"
  fi
  echo "Installing $*…" >&2
  # A machine that never updated its list of packages knows none: then, and only then, the list is fetched.
  _apt_install "$@" || { apt-get update >"$root/.apt.log" 2>&1 && _apt_install "$@"; } ||
    fail "apt-get could not install $*: $(_last_line "$root/.apt.log")"
}

_apt_install() {
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >"$root/.apt.log" 2>&1
}
