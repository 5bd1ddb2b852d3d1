"""The forms that an answer takes when it leaves: text, tables of other libraries, pictures."""
