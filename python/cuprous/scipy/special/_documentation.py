"""Docstrings and signatures of the functions of the table, composed when they are read."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any

from cuprous._ufuncs.documentation import compose

#: The operands' names of each function, and an example: arguments, and the representation of what it returns.
EXAMPLES = {
    "erf": ("x", "[0.0, 1.0]", "array([0.        , 0.84270079])"),
    "erfc": ("x", "[0.0, 5.0]", "array([1.00000000e+00, 1.53745979e-12])"),
    "erfinv": ("x", "[0.0, 0.5]", "array([0.        , 0.47693628])"),
    "erfcinv": ("x", "[0.5, 1.0]", "array([0.47693628, 0.        ])"),
    "gamma": ("x", "[0.5, 5.0]", "array([ 1.77245385, 24.        ])"),
    "gammaln": ("x", "[0.5, 100.0]", "array([  0.57236494, 359.13420537])"),
    "loggamma": ("x", "[0.5, 100.0]", "array([  0.57236494, 359.13420537])"),
    "rgamma": ("x", "[0.0, 5.0]", "array([0.        , 0.04166667])"),
    "psi": ("x", "[1.0, 2.0]", "array([-0.57721566,  0.42278434])"),
    "beta": ("a b", "[2.0, 1.0], 3.0", "array([0.08333333, 0.33333333])"),
    "betaln": ("a b", "[2.0, 1.0], 3.0", "array([-2.48490665, -1.09861229])"),
    "binom": ("n k", "[4, 5], 2", "array([ 6., 10.])"),
    "expit": ("x", "[0.0, 1.0]", "array([0.5       , 0.73105858])"),
    "logit": ("x", "[0.5, 0.75]", "array([0.        , 1.09861229])"),
    "log_expit": ("x", "[0.0, 1.0]", "array([-0.69314718, -0.31326169])"),
    "ndtr": ("x", "[0.0, 1.96]", "array([0.5      , 0.9750021])"),
    "ndtri": ("x", "[0.5, 0.975]", "array([0.        , 1.95996398])"),
    "log_ndtr": ("x", "[0.0, -50.0]", "array([-6.93147181e-01, -1.25483136e+03])"),
    "i0": ("x", "[0.0, 1.0]", "array([1.        , 1.26606588])"),
    "i0e": ("x", "[0.0, 1.0]", "array([1.        , 0.46575961])"),
    "sinc": ("x", "[0.0, 0.5]", "array([1.        , 0.63661977])"),
    "xlogy": ("x y", "[0.0, 2.0], [0.0, 3.0]", "array([0.        , 2.19722458])"),
    "xlog1py": ("x y", "[0.0, 2.0], [-1.0, 3.0]", "array([0.        , 2.77258872])"),
    "entr": ("x", "[0.0, 0.5]", "array([0.        , 0.34657359])"),
    "rel_entr": ("x y", "[0.5, 0.5], [0.25, 0.75]", "array([ 0.34657359, -0.20273255])"),
    "kl_div": ("x y", "[0.5, 0.5], [0.25, 0.75]", "array([0.09657359, 0.04726745])"),
    "huber": ("delta r", "1.0, [0.5, 3.0]", "array([0.125, 2.5  ])"),
    "pseudo_huber": ("delta r", "1.0, [0.5, 3.0]", "array([0.11803399, 2.16227766])"),
    "boxcox": ("x lmbda", "[1.0, 4.0], 0.5", "array([0., 2.])"),
    "inv_boxcox": ("y lmbda", "[0.0, 2.0], 0.5", "array([1., 4.])"),
    "radian": ("d m s", "[90, 180], 0, 0", "array([1.57079633, 3.14159265])"),
    "exp10": ("x", "[0, 3]", "array([   1., 1000.])"),
    "exp2": ("x", "[0, 3]", "array([1., 8.])"),
    "expm1": ("x", "[0.0, 1e-10]", "array([0.e+00, 1.e-10])"),
    "log1p": ("x", "[0.0, 1e-10]", "array([0.e+00, 1.e-10])"),
    "exprel": ("x", "[0.0, 1.0]", "array([1.        , 1.71828183])"),
    "powm1": ("x y", "[2.0, 1.5], [3.0, 1e-10]", "array([7.00000000e+00, 4.05465108e-11])"),
    "cbrt": ("x", "[8, 27]", "array([2., 3.])"),
    "j0": ("x", "[0.0, 1.0]", "array([1.        , 0.76519769])"),
    "j1": ("x", "[0.0, 1.0]", "array([0.        , 0.44005059])"),
    "y0": ("x", "[0.5, 1.0]", "array([-0.44451873,  0.08825696])"),
    "y1": ("x", "[0.5, 1.0]", "array([-1.47147239, -0.78121282])"),
    "i1": ("x", "[0.0, 1.0]", "array([0.       , 0.5651591])"),
    "i1e": ("x", "[0.0, 1.0]", "array([0.        , 0.20791042])"),
    "k0": ("x", "[0.5, 1.0]", "array([0.92441907, 0.42102444])"),
    "k0e": ("x", "[0.5, 1.0]", "array([1.52410939, 1.14446308])"),
    "k1": ("x", "[0.5, 1.0]", "array([1.65644112, 0.60190723])"),
    "k1e": ("x", "[0.5, 1.0]", "array([2.73100971, 1.63615349])"),
    "iv": ("v z", "0.5, [1.0, 2.0]", "array([0.93767489, 2.04623686])"),
    "ive": ("v z", "0.5, [1.0, 2.0]", "array([0.34495131, 0.27692805])"),
    "kn": ("n x", "2, [1.0, 2.0]", "array([1.6248389 , 0.25375975])"),
    "erfcx": ("x", "[0.0, 30.0]", "array([1.        , 0.01879589])"),
    "erfi": ("x", "[0.0, 1.0]", "array([0.        , 1.65042576])"),
    "dawsn": ("x", "[0.0, 1.0]", "array([0.        , 0.53807951])"),
    "ellipk": ("x", "[0.0, 0.5]", "array([1.57079633, 1.85407468])"),
    "ellipkm1": ("x", "[0.5, 1.0]", "array([1.85407468, 1.57079633])"),
    "ellipe": ("x", "[0.0, 0.5]", "array([1.57079633, 1.35064388])"),
    "sindg": ("x", "[30, 90]", "array([0.5, 1. ])"),
    "cosdg": ("x", "[0, 60]", "array([1. , 0.5])"),
    "tandg": ("x", "[0, 45]", "array([0., 1.])"),
    "cotdg": ("x", "[45, 90]", "array([1., 0.])"),
    "cosm1": ("x", "[0.0, 1e-5]", "array([ 0.e+00, -5.e-11])"),
    "gammasgn": ("x", "[1.5, -0.5]", "array([ 1., -1.])"),
    "boxcox1p": ("x lmbda", "[0.0, 3.0], 0.5", "array([0., 2.])"),
    "inv_boxcox1p": ("y lmbda", "[0.0, 2.0], 0.5", "array([0., 3.])"),
    "gammainc": ("a x", "2.0, [1.0, 3.0]", "array([0.26424112, 0.80085173])"),
    "gammaincc": ("a x", "2.0, [1.0, 3.0]", "array([0.73575888, 0.19914827])"),
    "gammaincinv": ("a y", "2.0, [0.1, 0.5]", "array([0.53181161, 1.67834699])"),
    "gammainccinv": ("a y", "2.0, [0.1, 0.5]", "array([3.88972017, 1.67834699])"),
    "betainc": ("a b x", "2.0, 3.0, [0.25, 0.5]", "array([0.26171875, 0.6875    ])"),
    "betaincc": ("a b x", "2.0, 3.0, [0.25, 0.5]", "array([0.73828125, 0.3125    ])"),
    "betaincinv": ("a b y", "2.0, 3.0, [0.1, 0.5]", "array([0.14255932, 0.38572757])"),
    "betainccinv": ("a b y", "2.0, 3.0, [0.1, 0.5]", "array([0.67953942, 0.38572757])"),
    "stdtr": ("df t", "5, [0.0, 2.0]", "array([0.5       , 0.94903026])"),
    "stdtrit": ("df p", "5, [0.5, 0.975]", "array([0.        , 2.57058184])"),
    "fdtr": ("dfn dfd x", "2, 5, [0.5, 1.0]", "array([0.36606185, 0.56879885])"),
    "fdtrc": ("dfn dfd x", "2, 5, [0.5, 1.0]", "array([0.63393815, 0.43120115])"),
    "fdtri": ("dfn dfd p", "2, 5, [0.5, 0.95]", "array([0.79876978, 5.78613504])"),
    "chdtr": ("v x", "3, [1.0, 5.0]", "array([0.19874804, 0.82820286])"),
    "chdtrc": ("v x", "3, [1.0, 5.0]", "array([0.80125196, 0.17179714])"),
    "chdtri": ("v p", "3, [0.05, 0.5]", "array([7.8147279 , 2.36597388])"),
    "gdtr": ("a b x", "1.0, 2.0, [1.0, 3.0]", "array([0.26424112, 0.80085173])"),
    "gdtrc": ("a b x", "1.0, 2.0, [1.0, 3.0]", "array([0.73575888, 0.19914827])"),
    "pdtr": ("k m", "[0, 2], 1.5", "array([0.22313016, 0.80884683])"),
    "pdtrc": ("k m", "[0, 2], 1.5", "array([0.77686984, 0.19115317])"),
    "bdtr": ("k n p", "[0, 2], 4, 0.5", "array([0.0625, 0.6875])"),
    "bdtrc": ("k n p", "[0, 2], 4, 0.5", "array([0.9375, 0.3125])"),
    "pdtri": ("k y", "2, [0.1, 0.8]", "array([5.32232034, 1.5350442 ])"),
    "bdtri": ("k n y", "1, 4, [0.1, 0.5]", "array([0.67953942, 0.38572757])"),
    "nbdtr": ("k n p", "[0, 2], 4, 0.5", "array([0.0625 , 0.34375])"),
    "nbdtrc": ("k n p", "[0, 2], 4, 0.5", "array([0.9375 , 0.65625])"),
    "nbdtri": ("k n y", "1, 4, [0.1, 0.5]", "array([0.41610963, 0.68618983])"),
    "lpmv": ("m v x", "1, 2, [0.0, 0.5]", "array([ 0.        , -1.29903811])"),
    "kolmogorov": ("x", "[0.5, 1.0]", "array([0.96394524, 0.26999967])"),
    "expi": ("x", "[0.5, 1.0]", "array([0.4542199 , 1.89511782])"),
    "exp1": ("x", "[0.5, 1.0]", "array([0.55977359, 0.21938393])"),
    "expn": ("n x", "2, [0.5, 1.0]", "array([0.32664386, 0.14849551])"),
    "poch": ("z m", "[1.0, 3.0], 2", "array([ 2., 12.])"),
    "agm": ("a b", "[1.0, 2.0], 8.0", "array([3.61575618, 4.48605716])"),
    "zeta": ("x q", "[2.0, 3.0], 1.0", "array([1.64493407, 1.2020569 ])"),
}  # fmt: skip


def signature(function: Any) -> Signature:
    """Returns the signature of a function's calls."""
    operands = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in EXAMPLES[function.__name__][0].split()]
    return Signature([*operands, Parameter("out", Parameter.POSITIONAL_OR_KEYWORD, default=None)])


def docstring(function: Any) -> str:
    """Returns the docstring of a function."""
    name = function.__name__
    operands, values, result = EXAMPLES[name]
    several = " " in operands
    arguments = dict.fromkeys(operands.split(), "a scalar, array or array-like of real numbers.")
    arguments["out"] = "an array of the result's shape to write to, whose dtype the result must cast to."
    shape = "that the operands broadcast to" if several else f"of `{operands}`"
    returns = f"An array of the shape {shape}: float32 for float32 and bfloat16, otherwise float64."
    raises = {"TypeError": "for complex numbers, and for an `out` that the result does not cast to."}
    if several:
        raises["ValueError"] = "for operands that do not broadcast."
    example = f"cp.special.{name}({values})"
    return compose(f"{name}{signature(function)}", function._doc, arguments, returns, raises, example, result)
