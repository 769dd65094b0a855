# Shared by the scripts: installs PostgreSQL server programs, for tests and benchmarks that start their own server.
#
# Sourced after _setup.sh, never run.

# provide_postgres: makes sure that there are initdb and postgres; installs them as root on Debian, else fails.
provide_postgres() {
  local programs=(/usr/lib/postgresql/*/bin/initdb)
  [[ -x ${programs[0]} ]] || provide_command initdb postgresql
  provide_command psql postgresql-client
}
