"""Values as PostgreSQL writes them: types, codecs, parameters."""
