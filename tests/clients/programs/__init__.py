"""Programs that import `torch`, unchanged: they run with PyTorch too, which wrote models.json."""
