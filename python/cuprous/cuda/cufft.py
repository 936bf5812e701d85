"""Plans of Fourier transforms; `cuprous.scipy.fft.get_fft_plan` creates them."""

from cuprous.fft._plans import Plan, Plan1d, PlanNd, get_current_plan

__all__ = ["Plan", "Plan1d", "PlanNd", "get_current_plan"]
