"""What several tests share. Nothing here may be needed by the package itself."""
