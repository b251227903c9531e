"""How load comes, after MLPerf's LoadGen, and which percentile of latencies is asked for."""

SINGLE_STREAM, OFFLINE, SERVER = "single-stream", "offline", "server"
SCENARIOS = (SINGLE_STREAM, OFFLINE, SERVER)
PERCENTILES = {SINGLE_STREAM: 90.0, SERVER: 99.0}
MIN_SERVER_STEPS = 459
"""With fewer queries, none of them late, a 99th percentile is not known to keep a bound with 99 % confidence."""
