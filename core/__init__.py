"""What both apps stand on: small libraries, accounts, the installation, and what all of the REST API shares."""
