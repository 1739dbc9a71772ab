"""Core dumps: a process of the panel that crashes writes none, since its memory has keys and passwords."""

import resource


def forbid() -> None:
    """Let this process, and those that it starts, leave no core(5); whoever needs one may raise the limit again."""
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
