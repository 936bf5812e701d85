"""Plans that do not depend on the version of Polars, and the translation of Polars' plans to them."""
