"""What a run's program printed."""

from django.db import models

from benchmarks.models.runs import Run


class RunOutput(models.Model):
    """The program's output, capped at POOLDECK_OUTPUT_CAP_BYTES."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="output", primary_key=True)
    stdout = models.TextField(default="")
    stderr = models.TextField(default="")
    truncated = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"output of run {self.run_id}"
