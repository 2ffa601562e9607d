"""What the description cannot say to a machine: which moments the service takes."""

from datetime import datetime, timedelta, timezone

import schemathesis
from hypothesis import strategies as st

NOW = datetime.now(timezone.utc)
DAY = timedelta(days=1)

schemathesis.openapi.format(
    "date-time",
    st.datetimes(min_value=datetime(2010, 1, 2), max_value=datetime(2010, 1, 3)).map(lambda at: at.isoformat() + "Z"),
)
