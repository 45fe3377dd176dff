"""How large the parts of a model file may be; ``save`` keeps to what ``load`` accepts."""

# Name and version of what is written.
FORMAT = "kedge model"
VERSION = 1
DESCRIPTION = "model.json"

# All members together, unless the caller of ``load`` says otherwise.
MOST_BYTES = 16 * 2**30
MOST_MEMBERS = 10_000
# The list of contents at the end of a zip; 10,000 members take about half of it.
MOST_DIRECTORY_BYTES = 2 * 2**20
# Parsed, JSON takes up to 50 times its size.
MOST_DESCRIPTION_BYTES = 4 * 2**20
# Levels of lists and dicts inside an attribute; each takes up to three of JSON.
MOST_NESTED_VALUES = 20
MOST_NESTED_JSON = 100
# Text before the numbers of an .npy member; what kedge writes takes 118 bytes.
MOST_HEADER_BYTES = 512
MOST_DIMENSIONS = 16
# Decimal digits of an integer.
MOST_DIGITS = 1000
# Bytes read at a time.
CHUNK = 2**20
