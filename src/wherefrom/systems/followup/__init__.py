"""Which whole question a follow-up means."""
