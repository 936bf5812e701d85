"""Side by side with peers, in one run on one machine: `python -m bench.run`. Other machines' figures prove nothing."""
