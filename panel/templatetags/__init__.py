"""Tags and filters that both apps' templates use."""
