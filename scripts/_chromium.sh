# Shared by the scripts: a Chromium for what renders pages.
#
# Sourced after _setup.sh, never run. Playwright's own download of a browser is not used: the system's Chromium is kept
# up to date by the system, and needs no second source to be trusted.

# provide_chromium: a Chromium is on this machine; root on Debian gets it installed, others are told.
provide_chromium() {
  local name
  for name in /usr/lib/chromium/chromium chromium chromium-browser google-chrome google-chrome-stable chrome; do
    command -v "$name" >/dev/null && return
  done
  provide_command chromium chromium
}
