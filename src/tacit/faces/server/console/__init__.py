"""The web console: pages made on the server, for analysts and for the curator."""
