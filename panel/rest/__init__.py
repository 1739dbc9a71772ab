"""What the REST API's views share: pages, errors, filters, parsers, schema."""
