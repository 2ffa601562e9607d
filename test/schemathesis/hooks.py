"""Which moments the service takes: none before 2010, none in the future; in all their forms. And what
an event of the stream holds, which to generators is text."""

from datetime import datetime, timedelta, timezone

import schemathesis
from hypothesis import strategies as st

FIRST = datetime(2010, 1, 2)
LAST = datetime.now(timezone.utc).replace(tzinfo=None) - timedelta(days=2)

digits = st.text("0123456789", min_size=1, max_size=9).map(lambda fraction: f".{fraction}")
offsets = st.builds("{}{:02}:{:02}".format, st.sampled_from("+-"), st.integers(0, 23), st.integers(0, 59))
moments = st.builds(
    lambda at, fraction, offset: at.strftime("%Y-%m-%dT%H:%M:%S") + fraction + offset,
    st.datetimes(FIRST, LAST),
    st.just("") | digits,
    st.sampled_from("Zz") | offsets,
)

schemathesis.openapi.format("date-time", moments)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    for operations in raw_schema["paths"].values():
        for response in operations.get("get", {}).get("responses", {}).values():
            stream = response.get("content", {}).get("text/event-stream")
            if stream is not None:
                stream["schema"] = stream["schema"]["x-event"]
