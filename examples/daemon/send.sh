#!/bin/sh
# A daemon in sh and curl. It takes readings as lines `SN TEMP` on standard input and sends them to
# Thermolog so that none is lost and none is stored twice, whatever breaks: docs/daemon.md.
#
#   THERMOLOG_URL=http://127.0.0.1:8080 THERMOLOG_TOKEN=thd_live_… read-sensors | sh send.sh
#
# Each reading is a file of the spool, named by its event id, which it keeps until it is decided.
# The id is printed when the file is on disk: from there on a `kill -9` loses nothing. Sent twice is
# stored once, so after any doubt everything that is left is sent again.
#
#   $SPOOL/new        waits to be sent; names are UUIDv7, so their order is that of time
#   $SPOOL/held       the service does not want it now: sent again after a while
#   $SPOOL/rejected   the service will never take it: for a person to look at
#
# One daemon a spool. Needs curl, and GNU date for milliseconds.
set -eu

URL=${THERMOLOG_URL:-http://127.0.0.1:8080}
TOKEN=${THERMOLOG_TOKEN:?is not set}
SPOOL=${SPOOL:-./spool}
RETRY_SECONDS_MAX=${RETRY_SECONDS_MAX:-60}
BATCH_MAX=500

mkdir -p "$SPOOL/new" "$SPOOL/held" "$SPOOL/rejected"
SPOOL=$(cd "$SPOOL" && pwd)
TMP=$SPOOL/tmp.$$
# What is left of one that was killed ends with the folder it works in.
rm -rf "$SPOOL"/tmp.*
mkdir "$TMP"

alarm() { printf 'ALARM: %s\n' "$*" >&2; }

# Files and names of folders are on disk when it returns. A `sync` that takes no names syncs all.
to_disk() { sync "$@" 2>/dev/null || sync; }

keep() { # SN TEMP
  case $1 in '' | *[!A-Za-z0-9:._-]*) alarm "no serial number: $1" && return ;; esac
  printf '%s' "$2" | grep -Eqx -- '-?(0|[1-9][0-9]*)(\.[0-9]+)?' || {
    alarm "no temperature of $1: $2"
    return
  }
  now=$(date -u '+%s%3N %Y-%m-%dT%H:%M:%S.%3NZ')
  time=$(printf '%012x' "${now% *}")
  random=$(od -An -N9 -tx1 /dev/urandom | tr -d ' \n')
  id=$(printf '%.8s-%s-7%.3s-8%.3s-%s' "$time" "${time#????????}" "$random" "${random#???}" \
    "$(printf '%s' "$random" | cut -c7-18)")
  printf '{"event_id":"%s","sn":"%s","temp":%s,"timestamp":"%s"}\n' \
    "$id" "$1" "$2" "${now#* }" >"$TMP/$id"
  to_disk "$TMP/$id"
  mv "$TMP/$id" "$SPOOL/new/$id"
  to_disk "$SPOOL/new"
  printf '%s\n' "$id"
}

# Posts the events named in tmp/batch; the status is in $status, 000 when there is no answer.
post() {
  {
    printf '{"measurements":['
    (cd "$SPOOL/new" && xargs cat <"$TMP/batch" | paste -sd, -)
    printf ']}'
  } >"$TMP/body"
  : >"$TMP/answer"
  : >"$TMP/headers"
  # The token goes in by standard input: arguments are seen by everyone on the machine.
  status=$(printf 'Authorization: Bearer %s\n' "$TOKEN" | curl -sS --header @- \
    --header 'Content-Type: application/json' --data-binary "@$TMP/body" \
    --connect-timeout 10 --max-time 30 --dump-header "$TMP/headers" \
    --output "$TMP/answer" --write-out '%{http_code}' \
    "$URL/api/v1/measurements/batch") || status=000
}

# Ids of the objects in the answer that match. Ids and codes of ours have no braces and no escapes.
ids_of() {
  tr '{}' '\n\n' <"$TMP/answer" | grep -E -- "$1" |
    sed -n 's/.*"event_id":"\([0-9a-f-]*\)".*/\1/p' | sort -u
}

# Takes the named events out of `new`: into another folder, or away. Sets $decided.
settle() { # FOLDER or nothing; ids on standard input
  while read -r id; do
    [ -e "$SPOOL/new/$id" ] || continue
    decided=$((decided + 1))
    if [ -n "${1-}" ]; then mv "$SPOOL/new/$id" "$SPOOL/$1/$id"; else rm "$SPOOL/new/$id"; fi
  done <"$TMP/ids"
}

# What the answer means for each event. What is not settled here is sent again.
judge() {
  decided=0
  case $status in
  2??)
    token_refused=
    # Only what the receipt names: this 200 may be of somebody else on the way.
    ids_of '"status":"(created|duplicate)"' >"$TMP/ids" && settle
    ids_of '"status":"conflict"' >"$TMP/ids" && settle rejected
    [ ! -s "$TMP/ids" ] || alarm "conflict: $(tr '\n' ' ' <"$TMP/ids")"
    ;;
  422)
    ids_of '"event_id"' >"$TMP/named"
    ids_of '"code":"timestamp_in_future"' >"$TMP/ahead"
    tr '{}' '\n\n' <"$TMP/answer" | grep -v '"code":"timestamp_in_future"' |
      sed -n 's/.*"event_id":"\([0-9a-f-]*\)".*/\1/p' | sort -u >"$TMP/ids"
    settle rejected
    mv "$TMP/ahead" "$TMP/ids" && settle held
    alarm "refused: $(cat "$TMP/answer")"
    ;;
  403)
    ids_of '"event_id"' >"$TMP/ids" && settle held
    alarm "not permitted: $(cat "$TMP/answer")"
    ;;
  401)
    # Worth one line, not one for each attempt.
    [ -n "${token_refused-}" ] || alarm "the token is not accepted"
    token_refused=yes
    ;;
  400 | 404 | 405 | 409 | 413 | 415)
    cp "$TMP/batch" "$TMP/ids" && settle rejected
    alarm "status $status: set aside: $(cat "$TMP/answer")"
    ;;
  esac
}

# Waits longer after each failure, never at the same moment as others, and as long as it is told.
pause() {
  asked=$(tr -d '\r' <"$TMP/headers" |
    sed -n 's/^[Rr][Ee][Tt][Rr][Yy]-[Aa][Ff][Tt][Ee][Rr]: *\([0-9][0-9]*\)$/\1/p' | tail -n 1)
  seed=$(od -An -N2 -tu2 /dev/urandom)
  sleep "$(awk -v n="$failures" -v max="$RETRY_SECONDS_MAX" -v asked="${asked:-0}" -v seed="$seed" \
    'BEGIN { s = 2 ^ (n < 10 ? n : 10) / 2; if (s > max) s = max
             s *= 0.5 + seed / 131072; print (s > asked ? s : asked) }')"
}

release_held() {
  released=$(date +%s)
  for file in "$SPOOL"/held/*; do
    [ ! -e "$file" ] || mv "$file" "$SPOOL/new/"
  done
}

# Sends as long as the daemon lives, and after the end of its input until nothing is left.
send_all() {
  failures=0
  release_held
  while kill -0 "$$" 2>/dev/null; do
    [ $(($(date +%s) - released)) -lt "$RETRY_SECONDS_MAX" ] || release_held
    over=$([ ! -e "$TMP/end" ] || echo over)
    find "$SPOOL/new" -type f | sed 's|.*/||' | sort | head -n "$BATCH_MAX" >"$TMP/batch"
    if [ ! -s "$TMP/batch" ]; then
      if [ -n "$over" ] && [ -z "$(ls "$SPOOL/held")" ]; then return 0; fi
      sleep 0.2
      continue
    fi
    post
    judge
    if [ "$decided" -gt 0 ]; then
      failures=0
    else
      failures=$((failures + 1))
      pause
    fi
  done
}

# Without its sender the daemon is none: whatever has started it starts it anew.
(trap '[ "$?" -eq 0 ] || kill "$$"' EXIT && send_all) &
while read -r sn temp; do keep "$sn" "$temp"; done
: >"$TMP/end"
wait
rm -r "$TMP"
