"""The quickstart: private servers under POOLDECK_HOME and the panel in front of them."""
