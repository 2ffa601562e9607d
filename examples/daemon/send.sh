#!/bin/sh
# A daemon in sh and curl. It takes readings as lines `SN TEMP` or `SN TEMP TIME` on standard input
# and sends them to Thermolog so that none is lost and none is stored twice, whatever breaks:
# docs/daemon.md.
#
#   THERMOLOG_URL=http://127.0.0.1:8080 THERMOLOG_TOKEN=thd_live_… read-sensors | sh send.sh
#
# Each reading is a file of the spool, named by its event id, which it keeps until it is decided.
# The id is printed when the file is on disk: from there on a `kill -9` loses nothing. Sent twice is
# stored once, so after any doubt everything that is left is sent again.
#
#   $SPOOL/new        waits to be sent; names are UUIDv7, so their order is that of time
#   $SPOOL/held       the service does not want it now: sent again after a while
#   $SPOOL/rejected   the service will never take it: for a person to look at; `mv` it to `new`
#   $SPOOL/ballast    room to send with on a full disk; without it new readings are not taken
#
# The second line of a file says when the clock was read: the boot, and seconds since. So the time
# of a clock that was never set can be repaired.
#
# One daemon a spool. Needs curl, gzip, and GNU date for milliseconds.
set -eu

URL=${THERMOLOG_URL:-http://127.0.0.1:8080}
TOKEN=${THERMOLOG_TOKEN:?is not set}
SPOOL=${SPOOL:-./spool}
RETRY_SECONDS_MAX=${RETRY_SECONDS_MAX:-60}
SILENCE_SECONDS_MAX=${SILENCE_SECONDS_MAX:-3600}
SPOOL_FILES_MAX=${SPOOL_FILES_MAX:-100000}
BATCH_MAX=500
BALLAST_KB=2048

case $URL in http://?* | https://?*) ;; *) echo "THERMOLOG_URL is no address" >&2 && exit 2 ;; esac
for number in "${RETRY_SECONDS_MAX%.[0-9]*}" "$SILENCE_SECONDS_MAX" "$SPOOL_FILES_MAX"; do
  case $number in '' | *[!0-9]*) echo "not a number: $number" >&2 && exit 2 ;; esac
done

boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null || echo "$$")
uptime() { cut -d ' ' -f 1 /proc/uptime 2>/dev/null || echo 0; }

mkdir -p "$SPOOL/new" "$SPOOL/held" "$SPOOL/rejected"
SPOOL=$(cd "$SPOOL" && pwd)
TMP=$SPOOL/tmp.$$
free_kb() { df -Pk "$SPOOL" | awk 'NR == 2 { print $4 }'; }

# The ballast goes when the disk is full, and comes back when there is room.
balance() {
  free=$(free_kb)
  if [ -e "$SPOOL/ballast" ]; then
    [ "$free" -ge $((BALLAST_KB / 4)) ] || rm "$SPOOL/ballast"
  elif [ "$free" -ge $((BALLAST_KB * 2)) ]; then
    dd if=/dev/urandom of="$SPOOL/ballast" bs=1024 count="$BALLAST_KB" 2>/dev/null
  fi
}
balance
# What is left of one that was killed ends with the folder it works in.
rm -rf "$SPOOL"/tmp.*
mkdir "$TMP"

alarm() { printf 'ALARM: %s\n' "$*" >&2; }

# What is held is sent again and again: worth one line a day.
alarm_held() {
  [ $(($(date +%s) - ${held_told:-0})) -ge 86400 ] || return 0
  alarm "$*"
  held_told=$(date +%s)
}

# Files and names of folders are on disk when it returns. A `sync` that takes no names syncs all.
to_disk() { sync "$@" 2>/dev/null || sync; }

# Worth one line, not one for each reading.
lose() {
  [ -n "${lost-}" ] || alarm "there is no room: new readings are lost until old ones are sent"
  lost=yes
}

keep() { # SN TEMP [TIME]
  case $1 in '' | *[!A-Za-z0-9:._-]*) alarm "no serial number: $1" && return ;; esac
  printf '%s' "$2" | grep -Eqx -- '-?(0|[1-9][0-9]*)(\.[0-9]+)?' || {
    alarm "no temperature of $1: $2"
    return
  }
  case ${3:-none} in
  none | ????-??-??T*Z | ????-??-??T*[+-]??:??) ;;
  *) alarm "no time of $1: $3" && return ;;
  esac
  timestamp=$(date -u ${3:+-d "$3"} +%Y-%m-%dT%H:%M:%S.%3NZ 2>/dev/null) || {
    alarm "no time of $1: $3"
    return
  }
  if [ ! -e "$SPOOL/ballast" ] || [ -e "$SPOOL/over" ]; then lose && return; fi
  time=$(printf '%012x' "$(date +%s%3N)")
  random=$(od -An -N9 -tx1 /dev/urandom | tr -d ' \n')
  id=$(printf '%.8s-%s-7%.3s-8%.3s-%s' "$time" "${time#????????}" "$random" "${random#???}" \
    "$(printf '%s' "$random" | cut -c7-18)")
  taken=${3:-$boot $(uptime)}
  printf '{"event_id":"%s","sn":"%s","temp":%s,"timestamp":"%s"}\n%s\n' \
    "$id" "$1" "$2" "$timestamp" "$taken" 2>/dev/null >"$TMP/$id" && to_disk "$TMP/$id" &&
    mv "$TMP/$id" "$SPOOL/new/$id" || {
    rm -f "$TMP/$id"
    lose
    return
  }
  to_disk "$SPOOL/new"
  lost=
  printf '%s\n' "$id"
}

# Posts the events named in tmp/batch; the status is in $status, 000 when there is no answer.
post() {
  {
    printf '{"measurements":['
    (cd "$SPOOL/new" && xargs grep -h '^{' <"$TMP/batch" | paste -sd, -)
    printf ']}'
  } | ${encoding:-cat} >"$TMP/body"
  : >"$TMP/answer"
  : >"$TMP/headers"
  # The token goes in by standard input: arguments are seen by everyone on the machine.
  status=$(printf 'Authorization: Bearer %s\n' "$TOKEN" | curl -sS --header @- \
    --header 'Content-Type: application/json' \
    ${encoding:+--header "Content-Encoding: $encoding"} --data-binary "@$TMP/body" \
    --connect-timeout 10 --max-time 30 --dump-header "$TMP/headers" \
    --output "$TMP/answer" --write-out '%{http_code}' \
    "$URL/api/v1/measurements/batch") || status=000
  # A 4xx of anything between is not the service's own: a proxy, a hotspot.
  code=
  if grep -Eqi '^content-type: *application/problem\+json' "$TMP/headers"; then
    code=$(sed -n 's/^[^[]*"code": *"\([a-z_]*\)".*/\1/p' "$TMP/answer" | head -n 1)
  fi
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

set_aside() {
  cp "$TMP/batch" "$TMP/ids" && settle rejected
  alarm "status $status: set aside: $(cat "$TMP/answer")"
}

# Repairs the times of a clock that was never set: the service's time less what has passed since.
# Takes their ids out of tmp/ids.
set_clock() {
  repaired=0
  ids_of '"code":"timestamp_too_old"' >"$TMP/old"
  now=$(sed -n 's/.*"server_time": *"\([^"]*\)".*/\1/p' "$TMP/answer" | head -n 1)
  booted=$(awk -v now="$(date -d "${now:-now}" +%s.%N)" -v up="$(uptime)" \
    'BEGIN { printf "%.3f", now - up }')
  while read -r id; do
    taken=$(sed -n "s/^$boot //p" "$SPOOL/new/$id" 2>/dev/null)
    if [ -z "$now" ] || [ -z "$taken" ] || ! grep -qx "$id" "$TMP/old"; then
      echo "$id"
      continue
    fi
    at=$(awk -v booted="$booted" -v taken="$taken" 'BEGIN { printf "%.3f", booted + taken }')
    timestamp=$(date -u -d "@$at" +%Y-%m-%dT%H:%M:%S.%3NZ)
    # Without its second line: once.
    sed -n "1s/\(\"timestamp\":\"\)[^\"]*/\1$timestamp/p" "$SPOOL/new/$id" >"$TMP/$id"
    to_disk "$TMP/$id" && mv "$TMP/$id" "$SPOOL/new/$id" && repaired=$((repaired + 1))
  done <"$TMP/ids" >"$TMP/others"
  mv "$TMP/others" "$TMP/ids"
}

# What the answer means for each event. What is not settled here is sent again.
judge() {
  decided=0
  case $status:$code in
  2??:*)
    told=
    # Only what the receipt names: this 200 may be of somebody else on the way.
    ids_of '"status":"(created|duplicate)"' >"$TMP/ids" && settle
    ids_of '"status":"conflict"' >"$TMP/ids" && settle rejected
    [ ! -s "$TMP/ids" ] || alarm "conflict: $(tr '\n' ' ' <"$TMP/ids")"
    ;;
  422:validation_failed)
    ids_of '"code":"timestamp_in_future"' >"$TMP/ahead"
    tr '{}' '\n\n' <"$TMP/answer" | grep -v '"code":"timestamp_in_future"' |
      sed -n 's/.*"event_id":"\([0-9a-f-]*\)".*/\1/p' | sort -u >"$TMP/ids"
    set_clock
    settle rejected
    if [ "$decided" -gt 0 ]; then alarm "refused: $(cat "$TMP/answer")"
    else alarm_held "held: $(cat "$TMP/answer")"; fi
    mv "$TMP/ahead" "$TMP/ids" && settle held
    decided=$((decided + repaired))
    ;;
  403:unknown_sensor | 403:sensor_quota)
    ids_of '"event_id"' >"$TMP/ids" && settle held
    alarm_held "not permitted: $(cat "$TMP/answer")"
    ;;
  400:malformed_json | 413:body_too_large | 413:batch_too_large)
    count=$(($(wc -l <"$TMP/batch") / 2))
    [ "$count" -gt 0 ] || set_aside
    ;;
  415:unsupported_encoding) encoding= ;;
  409:event_id_conflict | 415:unsupported_media_type) set_aside ;;
  408:* | 429:*) ;;
  3??:* | 4??:*)
    # Worth one line, not one for each attempt.
    [ "${told-}" = "$status:$code" ] || alarm "status $status ${code:-not of the service itself}," \
      "everything is kept"
    told=$status:$code
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
             if (asked > 600) asked = 600
             s *= 0.5 + seed / 131072; print (s > asked ? s : asked) }')"
}

# Says once in a while that nothing is delivered.
watch_silence() {
  now=$(date +%s)
  [ $((now - heard)) -gt "$SILENCE_SECONDS_MAX" ] || return 0
  alarm "nothing was delivered for $((now - heard)) s, $(ls "$SPOOL/new" | wc -l) readings wait:" \
    "status $status ${code-}"
  heard=$now
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
  encoding=gzip
  count=$BATCH_MAX
  heard=$(date +%s)
  release_held
  while kill -0 "$$" 2>/dev/null; do
    [ $(($(date +%s) - released)) -lt "${RETRY_SECONDS_MAX%.*}" ] || release_held
    over=$([ ! -e "$TMP/end" ] || echo over)
    balance
    find "$SPOOL/new" -type f | sed 's|.*/||' | sort -r >"$TMP/all"
    if [ "$(wc -l <"$TMP/all")" -lt "$SPOOL_FILES_MAX" ]; then rm -f "$SPOOL/over"; else
      : >"$SPOOL/over"
    fi
    # The newest first: who looks wants to know how it is now.
    head -n "$((count > 0 ? count : 1))" "$TMP/all" >"$TMP/batch"
    if [ ! -s "$TMP/batch" ]; then
      heard=$(date +%s)
      if [ -n "$over" ] && [ -z "$(ls "$SPOOL/held")" ]; then return 0; fi
      sleep 0.5
      continue
    fi
    post
    judge
    if [ "$decided" -gt 0 ]; then
      failures=0
      count=$BATCH_MAX
      heard=$(date +%s)
    else
      watch_silence
      failures=$((failures + 1))
      pause
    fi
  done
}

# Without its sender the daemon is none: whatever has started it starts it anew.
(trap '[ "$?" -eq 0 ] || kill "$$"' EXIT && send_all) &
while read -r sn temp time; do keep "$sn" "$temp" "$time"; done
: >"$TMP/end"
wait
rm -r "$TMP"
