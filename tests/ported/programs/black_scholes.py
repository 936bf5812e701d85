"""Prices options by Monte Carlo and by the formula, and plots the convergence."""

import numpy as np
import matplotlib.pyplot as plt
from scipy.stats import norm

rng = np.random.default_rng(7)
spot, strike, rate, sigma, years = 100.0, 105.0, 0.03, 0.2, 1.0

d1 = (np.log(spot / strike) + (rate + sigma**2 / 2) * years) / (sigma * np.sqrt(years))
d2 = d1 - sigma * np.sqrt(years)
exact = spot * norm.cdf(d1) - strike * np.exp(-rate * years) * norm.cdf(d2)

z = rng.standard_normal(400_000)
end = spot * np.exp((rate - sigma**2 / 2) * years + sigma * np.sqrt(years) * z)
payoff = np.exp(-rate * years) * np.maximum(end - strike, 0)
means = np.cumsum(payoff) / np.arange(1, len(payoff) + 1)
error = payoff.std(ddof=1) / np.sqrt(len(payoff))
print(f"formula {exact:.4f}")
print("within three errors", bool(abs(payoff.mean() - exact) < 3 * error))
print("share above strike", round(np.mean(end > strike), 2))
print("quantiles", [round(float(q)) for q in np.percentile(end, [5, 50, 95])])

plt.plot(means[::1000])
plt.axhline(exact, color="black")
plt.savefig("convergence.png")
