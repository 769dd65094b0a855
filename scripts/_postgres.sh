# Shared by the scripts: the programs of a PostgreSQL server, for what starts one of its own.
#
# Sourced after _setup.sh, never run.

# provide_postgres: initdb and postgres are on this machine; root on Debian gets them installed, others are told.
provide_postgres() {
  local programs=(/usr/lib/postgresql/*/bin/initdb)
  [[ -x ${programs[0]} ]] || provide_command initdb postgresql
  provide_command psql postgresql-client
}
