# openapi-python-client generate --url "$THERMOLOG_URL/openapi/daemon.json"
#
# Then `pip install ./thermolog-for-daemons-client` and `python client.py`, with THERMOLOG_URL and
# THERMOLOG_TOKEN. What a daemon does, with types for every answer: docs/api.md.

import os
from datetime import datetime, timedelta, timezone

from thermolog_daemon_client import AuthenticatedClient
from thermolog_daemon_client.api.account import show_daemon_me
from thermolog_daemon_client.api.measurements import (
    read_history,
    submit_batch,
    submit_measurement,
)
from thermolog_daemon_client.api.sensors import list_sensors, show_sensor
from thermolog_daemon_client.models import Bucket, Fill, Measurement, MeasurementBatch

URL = os.environ.get("THERMOLOG_URL", "http://127.0.0.1:8080")
api = AuthenticatedClient(base_url=URL, token=os.environ["THERMOLOG_TOKEN"])

print("me:", show_daemon_me.sync(client=api).data.user.email)

sensors = list_sensors.sync_detailed(client=api)
again = list_sensors.sync_detailed(client=api, if_none_match=sensors.headers["ETag"])
print("sensors:", len(sensors.parsed.data), "then", int(again.status_code))


# The event id makes it safe to send a measurement again: it is stored once.
def submit(temp):
    body = Measurement(event_id="example-1", sn="28FF641E93160434", temp=temp)
    return submit_measurement.sync(client=api, body=body)


created, repeated, conflict = submit(20.5), submit(20.5), submit(21.5)
print("measurement:", created.data.status, repeated.data.status)
print("conflict:", conflict.code, conflict.existing.temp)

measurements = [
    Measurement(
        event_id=f"example-batch-{index}",
        sn="" if index == 7 else "28FF641E93160435",
        temp=1e9 if index == 3 else 20.0,
    )
    for index in range(500)
]
batch = submit_batch.sync(client=api, body=MeasurementBatch(measurements=measurements))
print("batch:", batch.code, *(fault.pointer for fault in batch.errors))

now = datetime.now(timezone.utc)
period = {"from_": now - timedelta(hours=1), "to": now + timedelta(minutes=1)}
sensor_id = created.data.sensor_id
raw = read_history.sync(sensor_id, client=api, bucket=Bucket.RAW, **period)
hours = read_history.sync(sensor_id, client=api, bucket=Bucket.HOUR, fill=Fill.NULL, **period)
measured = next(point for point in hours.data.points if point.temp is not None)
print("history:", raw.data.points[0].temp, measured.max_, measured.count)

lost = show_sensor.sync(999_999_999, client=api)
stranger = show_daemon_me.sync(client=AuthenticatedClient(base_url=URL, token="thd_live_x"))
print("failures:", lost.code, stranger.code)
