"""A run of seconds: two epochs, few views, none of what surrounds a training."""
TINY = {"k": 16, "epochs": 2, "bank_views": 2, "beginnings": 1, "calibrate_confidence": False, "look_at_data": False, "device": "cpu", "seed": 3}
