"""QR-BERTSUM-TL: query-focused summaries of one document, as published."""
