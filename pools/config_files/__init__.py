"""Configuration files on disk: written atomically, swapped as a folder, and owned by one worker."""
