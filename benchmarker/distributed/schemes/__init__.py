"""The schemes that come with benchmarker, one per file: a rank's steps, and the published definition in float64."""
