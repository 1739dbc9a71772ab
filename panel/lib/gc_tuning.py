"""The garbage collector of processes that live long: it need not go through all that was imported, ever again."""

import gc


def leave_out_what_there_is() -> None:
    """Take the objects there are for ones that live as long as the process; called once all modules are in.

    A full collection went through Django's modules too: a tenth of a second of a processor in every process that a run
    passes by, in which a load on that processor stands still. Nothing is collected here: a signal's exception that
    came up in a finalizer would be lost, and a child's collection would copy its parent's memory.
    """
    gc.freeze()
