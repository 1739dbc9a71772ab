"""The forms of runs and of what stands around them; a part of a run's form is a class of fields that it takes up."""
