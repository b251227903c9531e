"""The schemes that come with benchmarker, one a file: a rank's steps, and the published definition in float64."""
