# Shared by the scripts: installs a Chromium to render pages.
#
# Sourced after _setup.sh, never run. Playwright's browser download is not used: the system updates its own Chromium, and
# no second source has to be trusted.

# provide_chromium: makes sure that there is a Chromium; installs it as root on Debian, else fails.
provide_chromium() {
  local name
  for name in /usr/lib/chromium/chromium chromium chromium-browser google-chrome google-chrome-stable chrome; do
    command -v "$name" >/dev/null && return
  done
  provide_command chromium chromium
}
