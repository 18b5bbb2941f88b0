"""What lets a reader skim: its layers in two parts, and an estimate between them."""
