"""Pool modes and what they break, in the words that the panel's pages have."""

from pools.advice.modes import WORDS
from pools.advice.session_features import HABITS
from reference.tables import plain, table


def modes() -> str:
    """Return a table of the modes."""
    rows = [
        (f"**{plain(mode.label)}**", *(plain(text) for text in (words.summary, words.keeps, words.breaks)))
        for mode, words in WORDS.items()
    ]
    return table(("Mode", "A server connection", "Keeps", "Breaks"), rows)


def session_features() -> str:
    """Return a table of what outlives a transaction, what happens then, and what to do instead."""
    rows = []
    for habit in HABITS:
        broken = ", ".join(sorted(str(mode.label).lower() for mode in habit.breaks_in))
        rows.append((plain(habit.name), broken, plain(habit.happens), plain(habit.instead)))
    return table(("What", "Breaks in mode", "What happens", "Instead"), rows)
