"""Work shared out over many workers, of one machine or several, by Ray; needs the extra `scale`."""
