"""The quickstart: private servers under POOLDECK_HOME, the panel and its demo."""
