#!/usr/bin/env bash
# What the tests need beside Python: Node runs the device's encoder, Chromium opens the survey's page, psql and JDBC ask
# over the PostgreSQL wire; `spark`: Java.
# Installs what is missing where that is possible; else says so, and the tests that need it say why they are skipped.
set -euo pipefail

missing=()
if [ "${1:-}" = spark ]; then
  command -v java >/dev/null 2>&1 || missing+=(openjdk-17-jre-headless)
else
  command -v node >/dev/null 2>&1 || missing+=(nodejs)
  command -v chromium >/dev/null 2>&1 || missing+=(chromium fonts-dejavu-core)
  command -v psql >/dev/null 2>&1 || missing+=(postgresql-client)
  command -v java >/dev/null 2>&1 || missing+=(openjdk-17-jdk-headless)
  [ -e /usr/share/java/postgresql.jar ] || missing+=(libpostgresql-jdbc-java)
fi
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "not installed: ${missing[*]}. Tests that need them will be skipped." >&2
  exit 0
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq || echo "the list of packages could not be renewed" >&2
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
  echo "not installed: ${missing[*]}. Tests that need them will be skipped." >&2
