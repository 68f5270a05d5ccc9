"""What the site needs from us: MkDocs hooks for listings, formulas, labs and search."""
