#!/usr/bin/env bash
# What a newcomer does, repeatable: clones HEAD into an empty folder and runs the commands of the README there, with an
# empty home folder, npm cache and Maven repository. What is not committed is not tested.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: tools/fresh.sh [--only up|test] [--keep-config] [--env NAME]... [--keep] [--into FOLDER]

  --only up|test  run only that command of the README (up: ./baton up --detach, demo, down; test: ./baton test)
  --keep-config   take over the user's npm and Maven settings (registries, mirrors, proxies, certificates),
                  for machines that reach the network only through them; caches stay empty
  --env NAME      hand on this environment variable too
  --keep          keep the folder
  --into FOLDER   use this (empty or new) folder
USAGE
}

only= keep_config=no keep=no folder=
extra=()
while [ $# -gt 0 ]; do
  case $1 in
    --only) only=${2-} && shift 2 ;;
    --keep-config) keep_config=yes && shift ;;
    --env) extra+=("${2-}") && shift 2 ;;
    --keep) keep=yes && shift ;;
    --into) folder=${2-} && shift 2 ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
  esac
done
case $only in '' | up | test) ;; *) usage >&2 && exit 2 ;; esac

source_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ -z "$folder" ]; then folder=$(mktemp -d "${TMPDIR:-/tmp}/baton-fresh.XXXXXX"); else mkdir -p "$folder"; fi
folder=$(cd "$folder" && pwd)
if [ -n "$(ls -A "$folder")" ]; then
  echo "fresh: $folder is not empty" >&2
  exit 2
fi
home="$folder/home" clone="$folder/baton" started=$SECONDS

say() { printf '\nfresh: %s (%s s)\n' "$*" "$((SECONDS - started))"; }

# Nothing of this user's environment reaches the newcomer, but what is named here.
pass=(PATH TERM LANG LC_ALL TMPDIR TZ JAVA_HOME)
if [ "$keep_config" = yes ]; then
  pass+=(http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY NODE_EXTRA_CA_CERTS SSL_CERT_FILE)
  pass+=(npm_config_registry NPM_CONFIG_REGISTRY MAVEN_OPTS MAVEN_ARGS JAVA_TOOL_OPTIONS)
fi
pass+=("${extra[@]}")

prepare() {
  mkdir -p "$home"
  if [ "$keep_config" = yes ]; then
    if [ -f "$HOME/.npmrc" ]; then cp "$HOME/.npmrc" "$home/.npmrc"; fi
    if [ -f "$HOME/.m2/settings.xml" ]; then mkdir -p "$home/.m2" && cp "$HOME/.m2/settings.xml" "$home/.m2/settings.xml"; fi
  fi
  say "cloning $(git -C "$source_root" rev-parse --short HEAD) into $clone"
  git clone --quiet "$source_root" "$clone"
}

newcomer() {
  local environment=("HOME=$home") name
  for name in "${pass[@]}"; do
    if [ -n "${!name-}" ]; then environment+=("$name=${!name}"); fi
  done
  # Maven takes the home folder from the user database, not from HOME.
  environment+=("MAVEN_OPTS=${MAVEN_OPTS_PASSED-} -Duser.home=$home")
  (cd "$clone" && env -i "${environment[@]}" "$@")
}

failed=0
check() {
  say "$*"
  if newcomer "$@"; then say "ok: $*"; else
    say "FAILED ($?): $*"
    failed=1
  fi
}

finish() {
  if [ -x "$clone/baton" ] && [ -d "$clone/.baton/node" ]; then newcomer ./baton down >/dev/null 2>&1 || true; fi
  if [ "$keep" = yes ]; then say "kept $folder"; else rm -rf "$folder"; fi
}
trap finish EXIT
trap 'exit 130' INT TERM

MAVEN_OPTS_PASSED=
if [ "$keep_config" = yes ]; then MAVEN_OPTS_PASSED=${MAVEN_OPTS-}; fi
prepare
if [ "$only" != test ]; then
  check ./baton up --detach
  check ./baton demo
  check ./baton down
fi
if [ "$only" != up ]; then check ./baton test; fi
if [ "$failed" = 0 ]; then say 'everything worked'; else say 'something failed'; fi
exit "$failed"
