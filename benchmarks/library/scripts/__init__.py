"""Users' scripts: the library that stores them, and the checks of who may run them where."""
