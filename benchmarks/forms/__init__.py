"""The forms of runs and of everything around them; each section of a run's form is a class of its own."""
