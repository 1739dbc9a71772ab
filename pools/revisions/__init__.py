"""A pooler's files through time: wished for, swapped in, compared, drifted from, rolled back."""
