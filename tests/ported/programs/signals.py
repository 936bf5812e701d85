"""Filters a noisy signal with SciPy and reads its spectrum."""

import numpy as np
import matplotlib.pyplot as plt
from scipy import signal

t = np.linspace(0, 2, 2000, endpoint=False)
noise = np.sin(2 * np.pi * 170 * t) * 0.4 + np.cos(2 * np.pi * 311 * t) * 0.3
raw = np.sin(2 * np.pi * 5 * t) + 0.5 * np.sin(2 * np.pi * 12 * t) + noise
b, a = signal.butter(4, 30 / 500)
clean = signal.filtfilt(b, a, raw)
spectrum = np.abs(np.fft.rfft(raw)) / len(t)
frequencies = np.fft.rfftfreq(len(t), t[1] - t[0])
peaks = frequencies[np.argsort(spectrum)[::-1][:4]]
print("peaks", sorted(round(f) for f in peaks))
print("error", round(np.sqrt(np.mean((clean[200:-200] - (raw - noise)[200:-200]) ** 2)), 3))
smooth = np.convolve(raw, np.ones(25) / 25, mode="same")
print("smooth", round(smooth.std(), 4), round(np.corrcoef(smooth, raw)[0, 1], 4))

fig, (above, below) = plt.subplots(2)
above.plot(t, raw, t, clean)
below.semilogy(frequencies, spectrum + 1e-12)
fig.savefig("signals.png")
