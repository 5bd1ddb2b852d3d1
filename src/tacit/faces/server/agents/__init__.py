"""The agents' door: MCP over HTTP or standard input, with a limit for each conversation."""
