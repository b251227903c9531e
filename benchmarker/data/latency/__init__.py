"""Data-set latency: how long a mini-batch takes from storage, by format, decoder and page cache (Deep500's metric)."""
