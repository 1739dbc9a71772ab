"""The keys of JMeter's options; `options.FIELDS` has their limits and defaults."""

from benchmarks.models.options import RunOptions


class JMeterOptions(RunOptions, total=False):
    """The validated options of a JMeter plan."""

    memory_mb: int
