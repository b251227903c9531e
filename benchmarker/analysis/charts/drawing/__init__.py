"""Drawing any chart with matplotlib."""
