"""Constants of the DB-API module."""
