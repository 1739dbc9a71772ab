"""Sign-on by others: an OpenID Connect provider, or a proxy in front; their groups give roles in teams."""
