"""The pages of runs, datasets, scripts, settings profiles, ceilings, external endpoints and generators."""
