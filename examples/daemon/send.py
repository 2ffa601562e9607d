#!/usr/bin/env python3
"""A daemon in Python, of the standard library alone. It takes readings as lines `SN TEMP` on
standard input and sends them to Thermolog so that none is lost and none is stored twice, whatever
breaks: docs/daemon.md.

    THERMOLOG_URL=http://127.0.0.1:8080 THERMOLOG_TOKEN=thd_live_… read-sensors | python3 send.py

Each reading is a row of the spool, a SQLite file, under its event id, which it keeps until it is
decided. The id is printed when the row is on disk: from there on a `kill -9` loses nothing. Sent
twice is stored once, so after any doubt everything that is left is sent again.

States of a row: `new` waits to be sent; `held` the service does not want now, it is sent again
after a while; `rejected` it will never take: for a person to look at. One daemon a spool.
"""

import http.client
import json
import os
import random
import re
import secrets
import sqlite3
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from datetime import datetime, timezone

URL = os.environ.get("THERMOLOG_URL", "http://127.0.0.1:8080")
TOKEN = os.environ.get("THERMOLOG_TOKEN", "")
SPOOL = os.environ.get("SPOOL", "./spool.db")
RETRY_SECONDS_MAX = float(os.environ.get("RETRY_SECONDS_MAX", "60"))
BATCH_MAX = 500
TIMEOUT_SECONDS = 30

READING = re.compile(r"([A-Za-z0-9:._-]+)\s+(-?\d+(?:\.\d+)?)")


def alarm(text):
    print(f"ALARM: {text}", file=sys.stderr, flush=True)


def uuid7():
    """Random, and greater than all of the milliseconds before."""
    at_ms = time.time_ns() // 1_000_000
    bits = at_ms << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=bits))


class Spool:
    """Each call is one transaction that is on disk when it returns."""

    def __init__(self, file):
        self.db = sqlite3.connect(file, timeout=30, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS readings (event_id TEXT PRIMARY KEY,"
            " element TEXT NOT NULL, state TEXT NOT NULL, reason TEXT) WITHOUT ROWID"
        )
        self.db.execute(
            "CREATE INDEX IF NOT EXISTS readings_by_state ON readings (state, event_id)"
        )

    def keep(self, sn, temp):
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        event_id = uuid7()
        element = {"event_id": event_id, "sn": sn, "temp": temp, "timestamp": now}
        row = (event_id, json.dumps(element), "new")
        self.db.execute("INSERT INTO readings (event_id, element, state) VALUES (?, ?, ?)", row)
        return event_id

    def batch(self):
        query = "SELECT element FROM readings WHERE state = 'new' ORDER BY event_id LIMIT ?"
        return [json.loads(element) for (element,) in self.db.execute(query, (BATCH_MAX,))]

    def settle(self, delivered, rejected, held):
        self.db.execute("BEGIN IMMEDIATE")
        for event_id in delivered:
            self.db.execute("DELETE FROM readings WHERE event_id = ?", (event_id,))
        for state, reasons in (("rejected", rejected), ("held", held)):
            for event_id, reason in reasons.items():
                self.db.execute(
                    "UPDATE readings SET state = ?, reason = ? WHERE event_id = ?",
                    (state, reason, event_id),
                )
        self.db.execute("COMMIT")

    def release_held(self):
        self.db.execute("UPDATE readings SET state = 'new' WHERE state = 'held'")

    def has_held(self):
        return self.db.execute("SELECT 1 FROM readings WHERE state = 'held'").fetchone() is not None


def post(batch):
    """Returns status, what the answer says, and for how long it asks to wait; 0 for no answer."""
    request = urllib.request.Request(
        f"{URL}/api/v1/measurements/batch",
        data=json.dumps({"measurements": batch}).encode(),
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
    )
    try:
        try:
            answer = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            wait = answer.headers.get("Retry-After", "")
            return answer.status, parse(answer.read()), int(wait) if wait.isdigit() else 0
    except (OSError, http.client.HTTPException):
        return 0, {}, 0


def parse(body):
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def objects(value):
    """Answers of somebody else on the way may have any shape."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def judge(status, body, batch):
    """What the answer means for each event; of what it does not name, nothing is known."""
    delivered, rejected, held = set(), {}, {}
    if 200 <= status < 300:
        # Only what the receipt names: this 200 may be of somebody else on the way.
        data = body.get("data")
        for item in objects(data.get("measurements") if isinstance(data, dict) else None):
            if item.get("status") == "conflict":
                rejected[item.get("event_id")] = "conflict"
            elif item.get("status") in ("created", "duplicate"):
                delivered.add(item.get("event_id"))
    elif status in (403, 422):
        for fault in objects(body.get("errors")):
            waits = status == 403 or fault.get("code") == "timestamp_in_future"
            (held if waits else rejected)[fault.get("event_id")] = fault.get("code")
    elif status in (400, 404, 405, 409, 413, 415):
        rejected = {element["event_id"]: f"status {status}" for element in batch}
    ours = {element["event_id"] for element in batch}
    rejected = {event_id: rejected[event_id] for event_id in ours & rejected.keys()}
    held = {event_id: held[event_id] for event_id in ours & held.keys() - rejected.keys()}
    return ours & delivered, rejected, held


def send_all(is_input_over):
    """Sends for ever, and after the end of the input until nothing is left."""
    spool = Spool(SPOOL)
    spool.release_held()
    released = time.monotonic()
    failures = 0
    last_alarm = ""
    while True:
        if time.monotonic() - released > RETRY_SECONDS_MAX:
            spool.release_held()
            released = time.monotonic()
        was_over = is_input_over.is_set()
        batch = spool.batch()
        if not batch:
            if was_over and not spool.has_held():
                return
            time.sleep(0.2)
            continue
        status, body, asked = post(batch)
        delivered, rejected, held = judge(status, body, batch)
        spool.settle(delivered, rejected, held)
        if status in (401, 403) or rejected or held:
            server_time = body.get("server_time", "unknown")
            text = (
                f"status {status} {body.get('code', '')}, server time {server_time},"
                f" rejected {rejected}, held {held}"
            )
            # A refused token is worth one line, not one for each attempt.
            if text != last_alarm:
                alarm(text)
            last_alarm = text
        if delivered:
            last_alarm = ""
        if delivered or rejected or held:
            failures = 0
        else:
            failures += 1
            longest = min(RETRY_SECONDS_MAX, 2 ** min(failures, 10) / 2)
            time.sleep(max(asked, longest * random.uniform(0.5, 1)))


def end_all(failure):
    """Without its sender the daemon is none: whatever has started it starts it anew."""
    sys.__excepthook__(failure.exc_type, failure.exc_value, failure.exc_traceback)
    os._exit(1)


def main():
    if not TOKEN:
        print("THERMOLOG_TOKEN is not set", file=sys.stderr)
        sys.exit(2)
    threading.excepthook = end_all
    spool = Spool(SPOOL)
    is_input_over = threading.Event()
    sender = threading.Thread(target=send_all, args=(is_input_over,), daemon=True)
    sender.start()
    for line in sys.stdin:
        # Half a line is no reading: whoever wrote it has died.
        reading = READING.fullmatch(line.strip()) if line.endswith("\n") else None
        if reading is None:
            alarm(f"no reading: {line.strip()}")
            continue
        print(spool.keep(reading[1], float(reading[2])), flush=True)
    is_input_over.set()
    sender.join()


main()
