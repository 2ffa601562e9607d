#!/usr/bin/env python3
"""A daemon in Python, of the standard library alone. It takes readings as lines `SN TEMP` or
`SN TEMP TIME` on standard input and sends them to Thermolog so that none is lost and none is stored
twice, whatever breaks: docs/daemon.md.

    THERMOLOG_URL=http://127.0.0.1:8080 THERMOLOG_TOKEN=thd_live_… read-sensors | python3 send.py
    python3 send.py --install 'read-sensors'   installs both as a systemd service
    python3 send.py --aside                    shows what was set aside
    python3 send.py --retry                    sends what was set aside again

Each reading is a row of the spool, a SQLite file, under its event id, which it keeps until it is
decided. The id is printed when the row is on disk: from there on a `kill -9` loses nothing. Sent
twice is stored once, so after any doubt everything that is left is sent again.

States of a row: `unset` was taken when nobody knew the time; `new` waits to be sent; `held` the
service does not want now, it is sent again after a while; `rejected` is set aside for a person to
look at; `delivered` is kept for a week, in case the service is restored from a backup. One daemon a
spool.
"""

import contextlib
import ctypes
import email.utils
import gzip
import http.client
import json
import os
import random
import re
import secrets
import shutil
import socket
import sqlite3
import ssl
import sys
import threading
import time
import urllib.parse
import uuid
from datetime import datetime, timezone

BATCH_MAX = 500
# So many fresh readings are taken when the allowance for a backlog is spent.
LIVE_MAX = 10
LIVE_MS = 5 * 60_000
CONNECT_SECONDS = 10
EXCHANGE_SECONDS = 30
IDLE_SECONDS = 3
ANSWER_BYTES_MAX = 4 << 20
RETRY_AFTER_SECONDS_MAX = 600
CLOCK_MS_MAX = 60_000
KEPT_MS = 7 * 86_400_000
BEFORE_RESTORE_MS = 5 * 60_000
BALLAST_BYTES = 2 << 20
FREE_PAGES_MIN = 64

READING = re.compile(r"([A-Za-z0-9:._-]{1,64})\s+(-?\d{1,9}(?:\.\d{1,17})?)(?:\s+(\S+))?")
TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
# Any other 4xx is of something between: a proxy, a hotspot.
CODES = frozenset(
    "malformed_json invalid_request missing_token invalid_token wrong_token_kind insufficient_scope"
    " unknown_sensor sensor_quota not_found method_not_allowed length_required event_id_conflict"
    " body_too_large batch_too_large unsupported_media_type unsupported_encoding validation_failed"
    " rate_limited".split()
)


class Settings:
    """Of the environment; what is wrong with them ends the daemon before it takes a reading."""

    def __init__(self, environ):
        self.environ = environ
        url = r"https?://[^\s/?#@]+(/[^\s?#]*)?"
        self.url = self.read("THERMOLOG_URL", "http://127.0.0.1:8080", url)
        self.token = self.read("THERMOLOG_TOKEN", "", r"thd_live_[!-~]+")
        self.spool = environ.get("SPOOL", "./spool.db")
        self.spool_bytes_max = self.number("SPOOL_MB_MAX", "256") * 1e6
        self.retry_seconds_max = self.number("RETRY_SECONDS_MAX", "60")
        self.silence_seconds_max = self.number("SILENCE_SECONDS_MAX", "3600")
        self.tls = self.context() if self.url.startswith("https:") else None

    def read(self, name, default, pattern):
        value = self.environ.get(name, default)
        if not value:
            give_up(f"{name} is not set")
        if not re.fullmatch(pattern, value):
            give_up(f"{name} does not match {pattern}")
        return value

    def number(self, name, default):
        return float(self.read(name, default, r"(?=.*[1-9])\d{1,9}(\.\d{1,9})?"))

    def context(self):
        """With a CA of one's own, and a certificate of this machine, where they are set."""
        try:
            context = ssl.create_default_context(cafile=self.environ.get("THERMOLOG_CA"))
            if "THERMOLOG_CERT" in self.environ:
                files = self.environ["THERMOLOG_CERT"], self.environ.get("THERMOLOG_KEY")
                context.load_cert_chain(*files)
            return context
        except (OSError, ssl.SSLError) as error:
            give_up(f"THERMOLOG_CA, _CERT or _KEY cannot be used: {error}")


def give_up(text):
    print(text, file=sys.stderr)
    sys.exit(2)


class Alarms:
    """For a person to read. The same matter is told again after a while, not at each attempt."""

    def __init__(self):
        self.told = {}
        self.lock = threading.Lock()

    def tell(self, text, matter=None, again_seconds=3600):
        with self.lock:
            now = time.monotonic()
            if matter is not None and now - self.told.get(matter, -1e9) < again_seconds:
                return
            self.told[matter] = now
            print(f"ALARM: {text}", file=sys.stderr, flush=True)


class Clock:
    """Tells the time once somebody knows it: the system says that its clock is synchronised, or an
    answer of the service has had nearly the same time. Where the answer's time was another, it is
    that, and what has passed since. Many boards start in 1970, or when they were last switched off.
    """

    def __init__(self):
        self.is_right = False
        self.offset_ms = None
        try:
            with open("/proc/sys/kernel/random/boot_id") as file:
                self.boot = file.read().strip()
        except OSError:
            self.boot = str(uuid.uuid4())

    def monotonic_ms(self):
        """Goes on through a change of the clock, and on Linux through sleep."""
        clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        return int(time.clock_gettime(clock) * 1000)

    def now_ms(self):
        """None while nobody knows."""
        self.is_right = self.is_right or is_synchronised()
        if self.is_right:
            return int(time.time() * 1000)
        return None if self.offset_ms is None else self.monotonic_ms() + self.offset_ms

    def compare(self, date_ms):
        """With the time of an answer of the service."""
        if abs(time.time() * 1000 - date_ms) <= CLOCK_MS_MAX:
            self.is_right = True
        elif is_synchronised():
            self.is_right = True
        else:
            self.is_right = False
            offset_ms = date_ms - self.monotonic_ms()
            # An answer's time is of whole seconds: without need it is not taken again.
            if self.offset_ms is None or abs(offset_ms - self.offset_ms) > CLOCK_MS_MAX:
                self.offset_ms = offset_ms


def is_synchronised():
    """What the kernel was told by chrony, ntpd or systemd-timesyncd."""
    try:
        return 0 <= ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512)) < 5
    except (AttributeError, OSError):
        return False


def uuid7():
    """Random, and greater than all of the milliseconds before."""
    at_ms = time.time_ns() // 1_000_000
    bits = at_ms << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=bits))


def instant(at_ms):
    at = datetime.fromtimestamp(at_ms // 1000, timezone.utc)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03d}Z"


def parse_instant(text):
    """None for what is no time of RFC 3339."""
    match = TIME.fullmatch(text)
    if match is None:
        return None
    try:
        at = datetime.fromisoformat(match[1] + match[3].replace("Z", "+00:00"))
        return int(at.timestamp()) * 1000 + int(float(match[2] or 0) * 1000)
    except ValueError:
        return None


class Full(Exception):
    """There is no room for another reading."""


class Spool:
    """Each change is one transaction that is on disk when it returns. A ballast file keeps room for
    getting rid of readings on a disk that is full; without it new ones are taken only into pages
    that are free."""

    def __init__(self, file, bytes_max):
        self.file = file
        self.bytes_max = bytes_max
        self.ballast = f"{file}.ballast"
        self.lock = threading.RLock()
        try:
            self.open()
        except sqlite3.OperationalError as error:
            if not self.is_full(error):
                raise
            self.drop_ballast()
            self.open()
        self.renew_ballast()

    def open(self):
        self.db = sqlite3.connect(
            self.file, timeout=30, isolation_level=None, check_same_thread=False
        )
        self.db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        # The log stays far smaller than the ballast.
        self.db.execute("PRAGMA wal_autocheckpoint = 64")
        self.db.executescript(
            "CREATE TABLE IF NOT EXISTS readings (event_id TEXT PRIMARY KEY, sn TEXT NOT NULL,"
            " temp REAL NOT NULL, at_ms INTEGER NOT NULL, boot TEXT, monotonic_ms INTEGER,"
            " state TEXT NOT NULL, reason TEXT, delivered_ms INTEGER) WITHOUT ROWID;"
            "CREATE INDEX IF NOT EXISTS readings_by_state ON readings (state, event_id);"
            "CREATE TABLE IF NOT EXISTS store (id TEXT NOT NULL)"
        )

    def is_full(self, error):
        disk = os.statvfs(os.path.dirname(os.path.abspath(self.file)))
        return "is full" in str(error) or disk.f_bavail * disk.f_frsize < BALLAST_BYTES // 8

    def change(self, statements):
        """Runs pairs of a statement and the rows of its parameters. Returns how many rows the last
        statement has changed."""
        with self.lock:
            try:
                return self.transact(statements)
            except sqlite3.OperationalError as error:
                if not self.is_full(error):
                    raise
                self.drop_ballast()
                self.checkpoint()
                return self.transact(statements)

    def transact(self, statements):
        self.db.execute("BEGIN IMMEDIATE")
        try:
            changed = 0
            for sql, rows in statements:
                changed = self.db.executemany(sql, rows).rowcount
            self.db.execute("COMMIT")
            return changed
        finally:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")

    def rows(self, sql, *parameters):
        with self.lock:
            return self.db.execute(sql, parameters).fetchall()

    def pragma(self, name):
        return self.rows(f"PRAGMA {name}")[0][0]

    def checkpoint(self):
        with contextlib.suppress(sqlite3.OperationalError):
            self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def drop_ballast(self):
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.ballast)

    def renew_ballast(self):
        if os.path.exists(self.ballast):
            return
        if self.pragma("freelist_count") > 4 * FREE_PAGES_MIN:
            self.rows(f"PRAGMA incremental_vacuum({FREE_PAGES_MIN})")
            self.checkpoint()
        if shutil.disk_usage(os.path.dirname(os.path.abspath(self.file))).free < 2 * BALLAST_BYTES:
            return
        try:
            with open(self.ballast, "wb") as file:
                file.write(os.urandom(BALLAST_BYTES))
                os.fsync(file.fileno())
        except OSError:
            self.drop_ballast()

    def has_room(self):
        free_pages = self.pragma("freelist_count")
        used_bytes = (self.pragma("page_count") - free_pages) * self.pragma("page_size")
        has_disk = free_pages > FREE_PAGES_MIN or os.path.exists(self.ballast)
        return used_bytes < self.bytes_max and has_disk

    def keep(self, sn, temp, clock, at_ms=None):
        """Returns the event id, or raises Full. Without a time of its source it is taken now."""
        with self.lock:
            if not self.has_room():
                self.drop_delivered()
            if not self.has_room():
                raise Full
            event_id, now_ms = uuid7(), clock.now_ms() if at_ms is None else at_ms
            own_ms = int(time.time() * 1000) if now_ms is None else now_ms
            timing = (own_ms, None, None, "new")
            if now_ms is None:
                timing = (own_ms, clock.boot, clock.monotonic_ms(), "unset")
            row = (event_id, sn, temp, *timing)
            try:
                insert = (
                    "INSERT INTO readings (event_id, sn, temp, at_ms, boot, monotonic_ms, state)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)"
                )
                self.change([(insert, [row])])
            except sqlite3.OperationalError as error:
                if self.is_full(error):
                    raise Full from error
                raise
            return event_id

    def drop_delivered(self):
        oldest = (
            "DELETE FROM readings WHERE event_id IN (SELECT event_id FROM readings"
            " WHERE state = 'delivered' ORDER BY event_id LIMIT 1000)"
        )
        with contextlib.suppress(sqlite3.OperationalError):
            self.change([(oldest, [()])])

    def stamp(self, clock):
        """Corrects the times of what was taken before anybody knew the time. Returns how many
        readings of an earlier start of the system, whose time nobody will ever know, go aside."""
        offset_ms = clock.now_ms() - clock.monotonic_ms()
        stamp = (
            "UPDATE readings SET at_ms = monotonic_ms + ?, boot = NULL, state = 'new'"
            " WHERE event_id IN (SELECT event_id FROM readings"
            " WHERE state = 'unset' AND boot = ? LIMIT 500)"
        )
        # In small steps, for which a full disk has room.
        while self.change([(stamp, [(offset_ms, clock.boot)])]):
            pass
        lost = (
            "UPDATE readings SET state = 'rejected', reason = 'clock_unset' WHERE state = 'unset'"
        )
        return self.change([(lost, [()])])

    def batch(self, count, since_ms=0):
        """The newest first: who looks wants to know how it is now."""
        query = (
            "SELECT event_id, sn, temp, at_ms FROM readings WHERE state = 'new' AND at_ms >= ?"
            " ORDER BY event_id DESC LIMIT ?"
        )
        return [
            {"event_id": event_id, "sn": sn, "temp": temp, "timestamp": instant(at_ms)}
            for event_id, sn, temp, at_ms in self.rows(query, since_ms, count)
        ]

    def settle(self, delivered, rejected, held, now_ms):
        done = "UPDATE readings SET state = 'delivered', delivered_ms = ? WHERE event_id = ?"
        rows = [(now_ms, event_id) for event_id in delivered]
        if not os.path.exists(self.ballast):
            # What is kept for a restore goes first when room is needed.
            done, rows = "DELETE FROM readings WHERE event_id = ?", [(one,) for one in delivered]
        aside = "UPDATE readings SET state = ?, reason = ? WHERE event_id = ?"
        asides = [("rejected", reason, event_id) for event_id, reason in rejected.items()]
        asides += [("held", reason, event_id) for event_id, reason in held.items()]
        self.change([(done, rows), (aside, asides)])

    def tidy(self, now_ms):
        """What is held is sent again, what was delivered a week ago is forgotten."""
        release = "UPDATE readings SET state = 'new' WHERE state = 'held'"
        forget = "DELETE FROM readings WHERE state = 'delivered' AND delivered_ms < ?"
        self.change([(release, [()]), (forget, [(now_ms - KEPT_MS,)])])

    def has_waiting(self):
        return any(self.has(state) for state in ("new", "held", "unset"))

    def count_waiting(self):
        states = "('new', 'held', 'unset')"
        return self.rows(f"SELECT count(*) FROM readings WHERE state IN {states}")[0][0]

    def has(self, state):
        return bool(self.rows("SELECT 1 FROM readings WHERE state = ? LIMIT 1", state))

    def store_id(self):
        return next((store_id for (store_id,) in self.rows("SELECT id FROM store")), None)

    def use_store(self, store_id, delivered_since_ms):
        """Returns how many delivered readings are sent again."""
        again = "UPDATE readings SET state = 'new' WHERE state = 'delivered' AND delivered_ms >= ?"
        statements = [("DELETE FROM store", [()]), ("INSERT INTO store VALUES (?)", [(store_id,)])]
        return self.change([*statements, (again, [(delivered_since_ms,)])])


class Answer:
    """Of somebody else on the way it may have any shape. Status 0: there was none."""

    def __init__(self, status=0, headers=None, text=b"", reason="no answer"):
        self.status = status
        self.headers = headers or {}
        self.body = parse(text)
        kind = self.headers.get("Content-Type", "").split(";")[0].strip()
        code = self.body.get("code") if kind == "application/problem+json" else None
        self.code = code if isinstance(code, str) and (code in CODES or status >= 500) else None
        self.reason = reason if status == 0 else f"status {status} {self.code or ''}".strip()

    def member(self, name):
        """Of the data that a success has."""
        data = self.body.get("data")
        return data.get(name) if 200 <= self.status < 300 and isinstance(data, dict) else None

    def items(self):
        """Of the receipt: of an answer without one, nothing is known."""
        return objects(self.member("measurements"))

    def seconds_asked(self):
        text = self.headers.get("Retry-After", "")
        asked = int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0
        return min(asked, RETRY_AFTER_SECONDS_MAX)

    def date_ms(self):
        try:
            date = email.utils.parsedate_to_datetime(self.headers.get("Date", ""))
            return int(date.timestamp() * 1000) + 500
        except (TypeError, ValueError):
            return None


def parse(text):
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def objects(value):
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


class Service:
    """One connection, kept while there is much to send."""

    def __init__(self, settings):
        self.settings = settings
        self.at = urllib.parse.urlsplit(settings.url)
        self.connection = None
        self.used = 0
        self.is_gzip_taken = True

    def submit(self, batch):
        body = json.dumps({"measurements": batch}, separators=(",", ":")).encode()
        headers = {"Content-Type": "application/json"}
        if self.is_gzip_taken:
            body = gzip.compress(body, 6)
            headers["Content-Encoding"] = "gzip"
        answer = self.ask("POST", "/api/v1/measurements/batch", body, headers)
        if answer.code == "unsupported_encoding":
            self.is_gzip_taken = False
        return answer

    def ask(self, method, path, body=None, headers=()):
        """Ends after half a minute, however slowly the other side speaks."""
        if time.monotonic() - self.used > IDLE_SECONDS:
            self.close()
        connection = self.connection = self.connection or self.connect()
        limit = threading.Timer(EXCHANGE_SECONDS, cut, [connection])
        limit.start()
        try:
            headers = {"Authorization": f"Bearer {self.settings.token}", **dict(headers)}
            connection.request(method, self.at.path.rstrip("/") + path, body, headers)
            response = connection.getresponse()
            text = response.read(ANSWER_BYTES_MAX)
            if not response.isclosed():
                self.close()
            return Answer(response.status, response.headers, text)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            return Answer(reason=f"no answer: {error or type(error).__name__}")
        finally:
            limit.cancel()
            self.used = time.monotonic()

    def connect(self):
        if self.settings.tls is None:
            return http.client.HTTPConnection(self.at.netloc, timeout=CONNECT_SECONDS)
        return http.client.HTTPSConnection(
            self.at.netloc, timeout=CONNECT_SECONDS, context=self.settings.tls
        )

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


def cut(connection):
    with contextlib.suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)


def judge(answer, batch):
    """What the answer means for each event; of what it does not name, nothing is known."""
    delivered, rejected, held = set(), {}, {}
    for item in answer.items():
        if item.get("status") == "conflict":
            rejected[item.get("event_id")] = "conflict"
        elif item.get("status") in ("created", "duplicate"):
            delivered.add(item.get("event_id"))
    if answer.code in ("validation_failed", "unknown_sensor", "sensor_quota"):
        for fault in objects(answer.body.get("errors")):
            waits = answer.status == 403 or fault.get("code") == "timestamp_in_future"
            (held if waits else rejected)[fault.get("event_id")] = fault.get("code")
    refuses_one = answer.code in ("malformed_json", "body_too_large", "batch_too_large")
    if answer.code in ("event_id_conflict", "unsupported_media_type") or (
        refuses_one and len(batch) == 1
    ):
        rejected = {element["event_id"]: answer.code for element in batch}
    ours = {element["event_id"] for element in batch}
    rejected = {event_id: rejected[event_id] for event_id in ours & rejected.keys()}
    held = {event_id: held[event_id] for event_id in ours & held.keys() - rejected.keys()}
    return ours & delivered, rejected, held


class Sender:
    def __init__(self, settings, spool, clock, alarms):
        self.settings = settings
        self.spool = spool
        self.clock = clock
        self.alarms = alarms
        self.service = Service(settings)
        self.count = BATCH_MAX
        self.failures = 0
        self.backlog_waits_until = 0
        self.tidied = -1e9
        self.delivered_at = time.monotonic()
        self.reason = "nothing was sent"

    def send_all(self, is_input_over):
        """Sends for ever, and after the end of the input until nothing is left."""
        while True:
            was_over = is_input_over.is_set()
            try:
                has_more = self.step()
            except sqlite3.OperationalError as error:
                if not self.spool.is_full(error):
                    raise
                # What was not settled is sent again, and stored once.
                self.alarms.tell("the disk is full: nothing can be settled", "settle")
                has_more = True
                time.sleep(1)
            if was_over and not has_more:
                return

    def step(self):
        """Returns whether there is anything left to send."""
        self.watch_silence()
        if not self.knows_time():
            self.ask_time()
            return True
        if time.monotonic() - self.tidied > self.settings.retry_seconds_max:
            self.spool.tidy(self.clock.now_ms())
            self.spool.renew_ballast()
            self.tidied = time.monotonic()
        batch = self.next_batch()
        if batch:
            self.send(batch)
            return True
        time.sleep(0.2)
        return self.spool.has_waiting()

    def knows_time(self):
        if self.clock.now_ms() is None:
            return False
        if self.spool.has("unset"):
            lost = self.spool.stamp(self.clock)
            if lost:
                self.alarms.tell(
                    f"{lost} readings of an earlier start of the system are set aside: nobody knows"
                    " their time; --retry sends them with the time of the clock then"
                )
        return True

    def ask_time(self):
        answer = self.service.ask("GET", "/api/v1/me")
        if not self.learn(answer):
            self.tell(answer, {}, {})
            self.wait(answer)

    def learn(self, answer):
        """The time, from an answer that is the service's own. Returns whether it is."""
        is_own = answer.code or answer.items() or answer.member("store")
        date_ms = answer.date_ms()
        if not is_own or date_ms is None:
            return False
        self.clock.compare(date_ms)
        if abs(self.clock.now_ms() - date_ms) > CLOCK_MS_MAX:
            self.alarms.tell("the clock differs from that of the service", "clock", 86_400)
        return True

    def next_batch(self):
        if time.monotonic() < self.backlog_waits_until:
            return self.spool.batch(LIVE_MAX, self.clock.now_ms() - LIVE_MS)
        return self.spool.batch(self.count)

    def send(self, batch):
        answer = self.service.submit(batch)
        self.learn(answer)
        delivered, rejected, held = judge(answer, batch)
        if delivered:
            self.compare_store(answer.headers.get("Thermolog-Store"))
        date_ms = answer.date_ms() or self.clock.now_ms()
        self.spool.settle(delivered, rejected, held, date_ms)
        self.tell(answer, rejected, held)
        if delivered:
            self.delivered_at = time.monotonic()
        if delivered or rejected or held:
            self.failures = 0
            self.count = min(BATCH_MAX, self.count * 2)
        elif answer.code in ("malformed_json", "body_too_large", "batch_too_large"):
            self.count = max(1, len(batch) // 2)
        elif answer.code == "rate_limited" and len(batch) > LIVE_MAX:
            # What is measured now has an allowance of its own.
            self.backlog_waits_until = time.monotonic() + self.pause_seconds(answer)
        elif answer.code != "unsupported_encoding":
            self.wait(answer)

    def tell(self, answer, rejected, held):
        server_time = answer.body.get("server_time", "unknown")
        text = f"{answer.reason}, server time {server_time}"
        if rejected:
            codes = ", ".join(sorted(set(map(str, rejected.values()))))
            self.alarms.tell(f"{text}: {len(rejected)} set aside, --aside shows them: {codes}")
        if held:
            codes = ", ".join(sorted(set(map(str, held.values()))))
            self.alarms.tell(f"{text}: {len(held)} held: {codes}", f"held {codes}", 86_400)
        elif 300 <= answer.status < 500 and answer.status not in (408, 415, 429) and not rejected:
            whose = "" if answer.code else ", not of the service itself"
            self.alarms.tell(f"{text}{whose}: everything is kept", answer.reason)

    def wait(self, answer):
        time.sleep(self.pause_seconds(answer))

    def pause_seconds(self, answer):
        """Longer after each failure, never the same as others, and as long as asked."""
        self.reason = answer.reason
        self.failures += 1
        longest = min(self.settings.retry_seconds_max, 2 ** min(self.failures, 10) / 2)
        return max(answer.seconds_asked(), longest * random.uniform(0.5, 1))

    def watch_silence(self):
        longest = self.settings.silence_seconds_max
        silence = time.monotonic() - self.delivered_at
        if silence <= longest:
            return
        if not self.spool.has_waiting():
            self.delivered_at = time.monotonic()
            return
        waiting = self.spool.count_waiting()
        text = f"nothing was delivered for {silence / 3600:.1f} h, {waiting} readings wait"
        self.alarms.tell(f"{text}: {self.reason}", "silence", longest)

    def compare_store(self, store_id):
        """After a restore the service may lack what it had taken: that is sent again, once."""
        known = self.spool.store_id()
        if store_id is None or store_id == known:
            return
        since_ms = 1 << 62
        if known is not None:
            store = self.service.ask("GET", "/api/v1/me").member("store")
            if not isinstance(store, dict) or store.get("id") != store_id:
                return
            since_ms = 0
            if store.get("restored_to"):
                restored = datetime.fromisoformat(store["restored_to"].replace("Z", "+00:00"))
                since_ms = int(restored.timestamp() * 1000) - BEFORE_RESTORE_MS
            time.sleep(random.uniform(0, min(10, self.settings.retry_seconds_max)))
        again = self.spool.use_store(store_id, since_ms)
        if again:
            self.alarms.tell(f"the service was restored: {again} delivered readings are sent again")


UNIT = """[Unit]
Description=Sends temperatures to Thermolog
Wants=network-online.target
After=network-online.target

[Service]
EnvironmentFile=/etc/thermolog-send.env
# Both end when one of them does, and are started again.
ExecStart=/bin/sh -c {command}
Restart=always
RestartSec=5s
RestartPreventExitStatus=2
# For devices of a group: SupplementaryGroups=dialout
DynamicUser=yes
StateDirectory=thermolog-send
Environment=SPOOL=/var/lib/thermolog-send/spool.db
ProtectHome=yes
MemoryMax=128M

[Install]
WantedBy=multi-user.target
"""

ENVIRONMENT = """THERMOLOG_URL={url}
THERMOLOG_TOKEN={token}
"""


def install(command):
    """Below DESTDIR where that is set, as packagers do it."""
    root = os.environ.get("DESTDIR", "")
    program = "/usr/local/lib/thermolog-send.py"
    line = f"{command} | exec python3 {program}"
    # To systemd % and $ mean something, to sh they mean what the command wants.
    quoted = '"' + re.sub(r'(["\\\\])', r"\\\1", line).replace("%", "%%").replace("$", "$$") + '"'
    environment = ENVIRONMENT.format(
        url=os.environ.get("THERMOLOG_URL", "https://thermolog.example"),
        token=os.environ.get("THERMOLOG_TOKEN", ""),
    )
    with open(os.path.abspath(__file__)) as file:
        write(root + program, file.read(), 0o755)
    write(f"{root}/etc/systemd/system/thermolog-send.service", UNIT.format(command=quoted), 0o644)
    if not os.path.exists(f"{root}/etc/thermolog-send.env"):
        write(f"{root}/etc/thermolog-send.env", environment, 0o600)
    print("Look at /etc/thermolog-send.env, then: systemctl enable --now thermolog-send")


def write(file, text, mode):
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as out:
        out.write(text)


def show_aside(spool):
    query = "SELECT event_id, sn, temp, at_ms, reason FROM readings WHERE state = 'rejected'"
    for event_id, sn, temp, at_ms, reason in spool.rows(query):
        row = {"event_id": event_id, "sn": sn, "temp": temp, "timestamp": instant(at_ms)}
        print(json.dumps({**row, "reason": reason}))


def retry_aside(spool):
    """But not what is stored already, with other content."""
    retry = (
        "UPDATE readings SET state = 'new', boot = NULL"
        " WHERE state = 'rejected' AND reason NOT IN ('conflict', 'event_id_conflict')"
    )
    print(f"{spool.change([(retry, [()])])} readings are sent again")


def end_all(failure):
    """Without its sender the daemon is none: whatever has started it starts it anew."""
    sys.__excepthook__(failure.exc_type, failure.exc_value, failure.exc_traceback)
    os._exit(1)


def take_readings(spool, clock, alarms):
    for line in sys.stdin:
        # Half a line is no reading: whoever wrote it has died.
        reading = READING.fullmatch(line.strip()) if line.endswith("\n") else None
        at_ms = parse_instant(reading[3]) if reading and reading[3] else None
        if reading is None or (reading[3] and at_ms is None):
            alarms.tell(f"no reading: {line.strip()}")
            continue
        try:
            print(spool.keep(reading[1], float(reading[2]), clock, at_ms), flush=True)
        except Full:
            alarms.tell("there is no room: new readings are lost until old ones are sent", "room")


def main(arguments):
    if arguments[:1] == ["--install"] and len(arguments) == 2:
        return install(arguments[1])
    if arguments in (["--aside"], ["--retry"]):
        spool = Spool(os.environ.get("SPOOL", "./spool.db"), float("inf"))
        return show_aside(spool) if arguments == ["--aside"] else retry_aside(spool)
    if arguments:
        give_up("usage: send.py [--install COMMAND | --aside | --retry]")
    settings = Settings(os.environ)
    threading.excepthook = end_all
    alarms, clock = Alarms(), Clock()
    spool = Spool(settings.spool, settings.spool_bytes_max)
    is_input_over = threading.Event()
    sender = Sender(settings, spool, clock, alarms)
    thread = threading.Thread(target=sender.send_all, args=(is_input_over,), daemon=True)
    thread.start()
    take_readings(spool, clock, alarms)
    is_input_over.set()
    thread.join()


main(sys.argv[1:])
