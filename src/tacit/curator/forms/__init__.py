"""What leaves, and the forms it takes: rows with error bars and receipts, text, frames of other libraries, pictures."""
