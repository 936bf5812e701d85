"""The table of functions, one row each: name, number of operands, code, docstring. A string as code names a native
function."""

from __future__ import annotations

from collections.abc import Callable

from cuprous import _core
from cuprous.scipy.special import _bessel as b
from cuprous.scipy.special import _beta as be
from cuprous.scipy.special import _composed as c
from cuprous.scipy.special import _distributions as d
from cuprous.scipy.special import _elliptic as el
from cuprous.scipy.special import _extra as e
from cuprous.scipy.special import _incomplete as i
from cuprous.scipy.special import _integrals as t
from cuprous.scipy.special import _legendre as l
from cuprous.scipy.special import _more as m
from cuprous.scipy.special import _normal as n
from cuprous.scipy.special import _orders as o
from cuprous.scipy.special import _quantiles as q
from cuprous.scipy.special._function import SpecialFunction, ndarray

_ROWS: tuple[tuple[str, int, str | Callable[..., ndarray], str], ...] = (
    ("erf", 1, "erf", "Returns the error function 2/sqrt(pi) times the integral of exp(-t²) from 0 to x."),
    ("erfc", 1, "erfc", "Returns 1 - erf(x), accurate even where erf(x) is almost 1."),
    ("erfinv", 1, "erfinv", "Returns the inverse of erf on [-1, 1]; NaN outside."),
    ("erfcinv", 1, n.erfcinv, "Returns the inverse of erfc on [0, 2]; NaN outside."),
    ("gamma", 1, "gamma", "Returns the gamma function."),
    ("gammaln", 1, "gammaln", "Returns the logarithm of |gamma(x)|."),
    ("loggamma", 1, c.loggamma, "Returns the logarithm of gamma(x) for real x >= 0; NaN below."),
    ("rgamma", 1, c.rgamma, "Returns 1 / gamma(x)."),
    ("psi", 1, "digamma", "Returns the derivative of gammaln."),
    ("beta", 2, be.beta, "Returns gamma(a) gamma(b) / gamma(a + b)."),
    ("betaln", 2, be.betaln, "Returns the logarithm of |beta(a, b)|."),
    ("binom", 2, be.binom, "Returns the binomial coefficient of n over k, also for real numbers."),
    ("expit", 1, "expit", "Returns the logistic function 1 / (1 + exp(-x))."),
    ("logit", 1, c.logit, "Returns log(p / (1 - p)), the inverse of expit."),
    ("log_expit", 1, c.log_expit, "Returns log(expit(x))."),
    ("ndtr", 1, "ndtr", "Returns the standard normal distribution function."),
    ("ndtri", 1, n.ndtri, "Returns the standard normal quantile, the inverse of ndtr."),
    ("log_ndtr", 1, n.log_ndtr, "Returns log(ndtr(x)), even where ndtr(x) underflows."),
    ("i0", 1, "i0", "Returns the modified Bessel function of the first kind and order 0."),
    ("i0e", 1, c.i0e, "Returns exp(-|x|) i0(x)."),
    ("sinc", 1, "sinc", "Returns sin(pi x) / (pi x); 1 at 0."),
    ("xlogy", 2, c.xlogy, "Returns x log(y); 0 where x = 0."),
    ("xlog1py", 2, c.xlog1py, "Returns x log(1 + y); 0 where x = 0."),
    ("entr", 1, c.entr, "Returns -x log(x); 0 at 0, -inf below."),
    ("rel_entr", 2, c.rel_entr, "Returns x log(x / y), a term of the relative entropy."),
    ("kl_div", 2, c.kl_div, "Returns x log(x / y) - x + y, a term of the Kullback-Leibler divergence."),
    ("huber", 2, c.huber, "Returns the Huber loss of r with threshold delta: huber(delta, r)."),
    ("pseudo_huber", 2, c.pseudo_huber, "Returns the smooth Huber loss: pseudo_huber(delta, r)."),
    ("boxcox", 2, c.boxcox, "Returns the Box-Cox transform of x."),
    ("inv_boxcox", 2, c.inv_boxcox, "Returns the inverse of the Box-Cox transform."),
    ("radian", 3, c.radian, "Converts degrees, minutes and seconds of arc to radians."),
    ("exp10", 1, c.exp10, "Returns 10**x."),
    ("exp2", 1, "exp2", "Returns 2**x."),
    ("expm1", 1, "expm1", "Returns exp(x) - 1, accurate for small x."),
    ("log1p", 1, "log1p", "Returns log(1 + x), accurate for small x."),
    ("exprel", 1, "exprel", "Returns (exp(x) - 1) / x; 1 at 0."),
    ("powm1", 2, "powm1", "Returns x**y - 1, accurate where x**y is near 1."),
    ("cbrt", 1, "cbrt", "Returns the cube root."),
    ("j0", 1, b.j0, "Returns the Bessel function of the first kind and order 0."),
    ("j1", 1, b.j1, "Returns the Bessel function of the first kind and order 1."),
    ("y0", 1, b.y0, "Returns the Bessel function of the second kind and order 0; NaN for x < 0."),
    ("y1", 1, b.y1, "Returns the Bessel function of the second kind and order 1; NaN for x < 0."),
    ("i1", 1, b.i1, "Returns the modified Bessel function of the first kind and order 1."),
    ("i1e", 1, b.i1e, "Returns exp(-|x|) i1(x)."),
    ("k0", 1, b.k0, "Returns the modified Bessel function of the second kind and order 0; NaN for x < 0."),
    ("k0e", 1, b.k0e, "Returns exp(x) k0(x)."),
    ("k1", 1, b.k1, "Returns the modified Bessel function of the second kind and order 1; NaN for x < 0."),
    ("k1e", 1, b.k1e, "Returns exp(x) k1(x)."),
    ("iv", 2, o.iv, "Returns the modified Bessel function of the first kind, real order; NaN for negative fractions."),
    ("ive", 2, o.ive, "Returns exp(-|x|) iv(v, x)."),
    ("kn", 2, o.kn, "Returns the modified Bessel function of the second kind and integer order; NaN for other orders."),
    ("erfcx", 1, m.erfcx, "Returns exp(x²) erfc(x), even where erfc underflows."),
    ("erfi", 1, m.erfi, "Returns 2/sqrt(pi) times the integral of exp(t²) from 0 to x."),
    ("dawsn", 1, m.dawsn, "Returns Dawson's integral, exp(-x²) times the integral of exp(t²) from 0 to x."),
    ("ellipk", 1, m.ellipk, "Returns the complete elliptic integral of the first kind with parameter m."),
    ("ellipkm1", 1, m.ellipkm1, "Returns ellipk(1 - p), accurate for small p."),
    ("ellipe", 1, m.ellipe, "Returns the complete elliptic integral of the second kind with parameter m."),
    ("ellipkinc", 2, el.ellipkinc, "Returns the incomplete elliptic integral of the first kind: ellipkinc(phi, m)."),
    ("ellipeinc", 2, el.ellipeinc, "Returns the incomplete elliptic integral of the second kind: ellipeinc(phi, m)."),
    ("sindg", 1, m.sindg, "Returns the sine of x degrees."),
    ("cosdg", 1, m.cosdg, "Returns the cosine of x degrees."),
    ("tandg", 1, m.tandg, "Returns the tangent of x degrees."),
    ("cotdg", 1, m.cotdg, "Returns the cotangent of x degrees."),
    ("cosm1", 1, m.cosm1, "Returns cos(x) - 1, accurate for small x."),
    ("gammasgn", 1, m.gammasgn, "Returns the sign of gamma(x)."),
    ("boxcox1p", 2, c.boxcox1p, "Returns the Box-Cox transform of 1 + x."),
    ("inv_boxcox1p", 2, c.inv_boxcox1p, "Returns the inverse of boxcox1p."),
    ("gammainc", 2, i.gammainc, "Returns the regularized lower incomplete gamma function P(a, x)."),
    ("gammaincc", 2, i.gammaincc, "Returns the regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x)."),
    ("gammaincinv", 2, q.gammaincinv, "Returns the inverse: x with gammainc(a, x) = y."),
    ("gammainccinv", 2, q.gammainccinv, "Returns the inverse: x with gammaincc(a, x) = y."),
    ("betainc", 3, i.betainc, "Returns the regularized incomplete beta function I_x(a, b)."),
    ("betaincc", 3, i.betaincc, "Returns 1 - betainc(a, b, x)."),
    ("betaincinv", 3, q.betaincinv, "Returns the inverse: x with betainc(a, b, x) = y."),
    ("betainccinv", 3, q.betainccinv, "Returns the inverse: x with betaincc(a, b, x) = y."),
    ("stdtr", 2, d.stdtr, "Returns Student's distribution function: stdtr(df, t)."),
    ("stdtrit", 2, q.stdtrit, "Returns the quantile of Student's distribution: t with stdtr(df, t) = p."),
    ("fdtr", 3, d.fdtr, "Returns Fisher's distribution function: fdtr(dfn, dfd, x)."),
    ("fdtrc", 3, d.fdtrc, "Returns 1 - fdtr(dfn, dfd, x)."),
    ("fdtri", 3, q.fdtri, "Returns the quantile of Fisher's distribution: x with fdtr(dfn, dfd, x) = p."),
    ("chdtr", 2, d.chdtr, "Returns the chi-square distribution function: chdtr(v, x)."),
    ("chdtrc", 2, d.chdtrc, "Returns 1 - chdtr(v, x)."),
    ("chdtri", 2, q.chdtri, "Returns the inverse: x with chdtrc(v, x) = p."),
    ("gdtr", 3, d.gdtr, "Returns the gamma distribution function with rate a and shape b: gdtr(a, b, x)."),
    ("gdtrc", 3, d.gdtrc, "Returns 1 - gdtr(a, b, x)."),
    ("pdtr", 2, d.pdtr, "Returns the Poisson distribution function: at most k events with mean m."),
    ("pdtrc", 2, d.pdtrc, "Returns 1 - pdtr(k, m)."),
    ("pdtri", 2, q.pdtri, "Returns the inverse: the mean m with pdtr(k, m) = y."),
    ("bdtr", 3, d.bdtr, "Returns the binomial distribution: at most k successes in n trials of probability p."),
    ("bdtrc", 3, d.bdtrc, "Returns 1 - bdtr(k, n, p)."),
    ("bdtri", 3, q.bdtri, "Returns the inverse: the probability p with bdtr(k, n, p) = y."),
    ("nbdtr", 3, d.nbdtr, "Returns the negative binomial distribution: at most k failures before n successes."),
    ("nbdtrc", 3, d.nbdtrc, "Returns 1 - nbdtr(k, n, p)."),
    ("nbdtri", 3, q.nbdtri, "Returns the inverse: the probability p with nbdtr(k, n, p) = y."),
    ("lpmv", 3, l.lpmv, "Returns the associated Legendre function of whole order m and degree v; NaN for others."),
    ("kolmogorov", 1, d.kolmogorov, "Returns Kolmogorov's limit distribution: the probability of values above y."),
    ("expi", 1, t.expi, "Returns the exponential integral Ei."),
    ("exp1", 1, t.exp1, "Returns the exponential integral E1; NaN for x < 0."),
    ("expn", 2, t.expn, "Returns the exponential integral E_n(x)."),
    ("poch", 2, e.poch, "Returns gamma(z + m) / gamma(z)."),
    ("zetac", 1, m.zetac, "Returns the Riemann zeta function minus 1, accurate for large x."),
    ("round", 1, m.round_, "Returns the nearest integer, of two the even one."),
    ("agm", 2, e.agm, "Returns the arithmetic-geometric mean."),
)


def _native(name: str) -> Callable[..., ndarray]:
    return lambda *operands: _core.map(name, *operands)


FUNCTIONS: dict[str, SpecialFunction] = {
    name: SpecialFunction(name, nin, _native(code) if isinstance(code, str) else code, doc)
    for name, nin, code, doc in _ROWS
}
FUNCTIONS["digamma"] = FUNCTIONS["psi"]
#: Older names, which CuPy still has.
FUNCTIONS |= {"btdtr": FUNCTIONS["betainc"], "btdtri": FUNCTIONS["betaincinv"]}
