"""The same flows through other people's simulators."""
