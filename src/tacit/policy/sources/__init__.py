"""Where the data lie: files and servers, the engines that read them, and how text is read."""
