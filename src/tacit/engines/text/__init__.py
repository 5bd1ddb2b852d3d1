"""Files of text: their lines, their cells, and tables made of them."""
