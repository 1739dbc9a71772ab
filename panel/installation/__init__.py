"""Which home the metadata database belongs to: a copied or restored panel does nothing until a person resumes it."""
