"""Estimators of scikit-learn on the device."""
