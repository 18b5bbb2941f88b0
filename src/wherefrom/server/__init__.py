"""The library over HTTP and over the Model Context Protocol."""
