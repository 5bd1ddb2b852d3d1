"""A survey in a box: asked on a web page, answered with coins in the browser, estimated at home."""
