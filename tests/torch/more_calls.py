"""Further calls, as in `calls.py`: documented keywords, and functions that libraries need."""

from __future__ import annotations

LINES = """
torch.sum(x, axis=1, keepdims=True); x.mean(axis=0); torch.max(x, axis=1); x.argmax(axis=1, keepdims=True)
torch.all(m, axis=1); x.softmax(axis=-1); torch.cumsum(x, axis=0); torch.cat([x, y], axis=1)
torch.stack([x, y], axis=1)
torch.concatenate([x, y], axis=1); x.unsqueeze(axis=0).shape; x.std(axis=1); x.amax(axis=0, keepdims=True)
torch.median(x, axis=1); torch.sort(x, axis=0); torch.topk(x, 2, axis=1); x.sum(axis=(0, 1)); torch.norm(x, dim=1)
x.split(split_size=2, dim=1); torch.permute(seq, dims=(2, 0, 1)).shape; seq.permute(dims=(2, 0, 1)).shape
torch.flip(x, dims=[1]); x.flip(dims=[0]); torch.reshape(x, shape=(4, 3)); x.reshape(shape=(2, 6)); x.view(size=(4, 3))
torch.tile(v, dims=(2,)); x.tile(dims=(2, 1)); x.repeat(repeats=(2, 1)); x.expand(size=(2, 3, 4))
torch.roll(x, shifts=1)
torch.broadcast_to(v, size=(2, 4)); torch.mm(x, mat2=x.T); torch.bmm(input=seq, mat2=seq.mT); torch.mv(x, vec=v)
torch.dot(v, tensor=v); torch.addmm(e(3, 3), mat1=x, mat2=x.T); torch.addmv(v[:3], mat=x, vec=v)
e(5, 2, 2).baddbmm(batch1=seq, batch2=seq.mT, beta=1.0, alpha=2.0); torch.inverse(input=s); torch.det(input=s)
torch.searchsorted(v.sort()[0], v, side="right", out_int32=True); torch.searchsorted(x.sort(1)[0], y)
torch.searchsorted(v, v, sorter=v.argsort()); torch.searchsorted(x.sort(1)[0], y, right=True)
torch.diag_embed(x, dim1=0, dim2=1); torch.diag_embed(x, offset=1, dim1=-1, dim2=0); torch.swapaxes(x, axis0=0, axis1=1)
torch.pow(input=p, exponent=2); p.clone().pow_(exponent=2); torch.float_power(p, exponent=2)
x.new_zeros(size=(2,)); x.new_full(size=(2,), fill_value=3.0); x.new_tensor(data=[1.0]); x.new_ones(size=(2, 2))
x.clone().uniform_(**{"from": 2.0, "to": 2.0}); x.clone().index_fill_(1, i[0, :2], value=1.0)
torch.asarray(obj=[1.0, 2.0]); torch.asarray(x, copy=True); torch.atleast_1d(v, v[0]); torch.heaviside(x, values=v)
torch.sort(x, dim=1, out=(e(3, 4), e(3, 4).long())); torch.cummax(x, 0, out=(e(3, 4), e(3, 4).long()))
torch.index_select(x, 1, i[0], out=e(3, 4)); torch.gather(x, 1, i, out=e(3, 4)); torch.hstack([v, v], out=e(8))
torch.mm(x.half(), y.half().T, out_dtype=torch.float32) if torch.cuda.is_available() else 0
torch.hann_window(5); torch.hann_window(5, periodic=False); torch.hamming_window(6)
torch.hamming_window(4, True, 0.5, 0.5)
torch.blackman_window(5); torch.bartlett_window(6); torch.kaiser_window(6, True, 8.0); torch.kaiser_window(5, False)
torch.hann_window(1); torch.hann_window(0); torch.signal.windows.hann(5); torch.signal.windows.kaiser(5, beta=3.0)
torch.stft(img.reshape(2, -1), 16, 4, window=torch.hann_window(16), return_complex=True)
torch.stft(img.reshape(2, -1), 16, 8, 12, center=False, normalized=True, return_complex=True)
torch.stft(img.reshape(2, -1)[0], 8, onesided=False, pad_mode="constant", return_complex=False)
torch.istft(torch.stft(v.repeat(20), 16, 4, return_complex=True, normalized=True), 16, 4, normalized=True, length=70)
torch.istft(torch.stft(img.reshape(2, -1), 16, return_complex=True), 16)
torch._foreach_add([x, v], 2.0); torch._foreach_mul([x, v], [y, v]); torch._foreach_sqrt([p])
torch._foreach_norm([x, v])
torch._foreach_addcmul([x], [y], [p], value=0.5); torch._foreach_lerp([x], [y], 0.25); torch._foreach_maximum([x], [y])
[a := [c(x)], torch._foreach_sub_(a, [y]), a[0]][2]; [a := [c(x)], torch._foreach_div_(a, 2.0), a[0]][2]
torch.special.entr(p); torch.special.xlog1py(x, p); torch.special.ndtr(x); torch.special.ndtri(p / 10)
torch.special.i0e(x)
torch.special.i1(x); torch.special.erfcx(x); torch.special.log_ndtr(x * 5); torch.special.gammainc(p, p)
torch.special.bessel_j0(x); torch.special.expit(x); torch.special.logit(p / 10); torch.special.multigammaln(p + 2, 2)
torch.fliplr(x); torch.flipud(x); torch.ldexp(x, i); torch.frexp(x); torch.frexp(torch.tensor([0.0, 1.0, -8.0, 0.75]))
torch.isposinf(x / 0); torch.isneginf(x / 0); torch.isreal(z); torch.is_nonzero(v[0]); torch.positive(x)
torch.scalar_tensor(3); torch.scalar_tensor(3, dtype=torch.int64); torch.empty_strided((2, 3), (1, 2)).stride()
torch.frombuffer(bytearray(8), dtype=torch.int32); torch.split_with_sizes(x, [1, 3], 1); torch.diagflat(v, 1)
torch.unravel_index(i, (2, 3)); torch.vdot(z, z); torch.addr(x, v[:3], v, beta=2, alpha=3)
torch.chain_matmul(x, y.T, x)
torch.addbmm(e(2, 2), seq, seq.mT, alpha=0.5); torch.vander(v, 3); torch.vander(v, increasing=True)
torch.cumulative_trapezoid(x); torch.cumulative_trapezoid(x, v, dim=1); torch.cumulative_trapezoid(x, dx=2.0, dim=0)
torch.select_scatter(x, v, 0, 1); torch.slice_scatter(x, e(3, 2), 1, 0, 4, 2); torch.diagonal_scatter(s, v)
torch.as_strided_scatter(x, e(2, 2), (2, 2), (1, 2), 1); torch.mvlgamma(p + 3, 3); torch.svd(x)[1]; torch.qr(x)[1].abs()
torch.cholesky(s @ s.T + torch.eye(4)); torch.cholesky(s @ s.T + torch.eye(4), upper=True); torch.exp_(c(x))
torch.clamp_(c(x), min=0.0); torch.atleast_3d(v).shape; x.view(torch.int32).dtype; x.view(torch.uint8).shape
e(2, 3).storage().size(); e(2, 3)[1].untyped_storage().nbytes(); f"{v[0]:.3f} {torch.tensor(3)}"
img.to(memory_format=torch.channels_last).stride(); img.contiguous(memory_format=torch.channels_last).is_contiguous()
img.is_contiguous(memory_format=torch.contiguous_format)
torch.empty_like(img, memory_format=torch.channels_last).stride()
nn.Conv2d(4, 2, 3).to(memory_format=torch.channels_last).weight.stride(); torch.contiguous_format; torch.strided
x.layout
torch.finfo(torch.float8_e4m3fn).max; torch.finfo(torch.float8_e5m2).tiny; torch.float8_e4m3fn
torch.get_default_device()
torch.jit.is_scripting(); torch.jit.annotate(int, 3); torch.fx.wrap(len)("ab"); torch.compiler.is_compiling()
torch.sym_max(2, 3); torch.sym_not(0)
torch.typename(x); torch._assert(True, "never"); torch._utils._flatten_dense_tensors([x, v]); torch.device("meta")
torch.library.custom_op("calls::twice", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")(x)
torch.utils._pytree.tree_map(lambda a: a * 2, {"a": [1, (2, 3)], "b": None and 0 or 4})
[str(part) for part in torch.utils._pytree.tree_flatten_with_path({"a": [1, 2]})[0][1][0]]
torch.testing.assert_close(x, x)
torch.utils._pytree.tree_leaves([1, {"k": (2,)}])
torch.utils._pytree.tree_structure((1, [2])).unflatten([3, 4])
F.grouped_mm(e(4, 8).bfloat16() + 1, e(2, 8, 8).bfloat16() + 2, offs=torch.tensor([1, 4], dtype=torch.int32))
torch.nn.utils.fusion.fuse_conv_bn_eval(nn.Conv2d(4, 2, 1).eval(), nn.BatchNorm2d(2).eval())(img).shape
torch.distributions.constraints.simplex.check(torch.tensor([[0.5, 0.5], [0.5, 0.6]]))
torch.distributions.constraints.positive.check(x)
torch.nn.init._calculate_fan_in_and_fan_out(e(2, 3, 4)); torch.autograd.graph.save_on_cpu().__class__.__name__ and 1
torch.cuda.CUDAGraph.__name__; torch.onnx.is_in_onnx_export(); torch.backends.cudnn.enabled; torch.mps.is_available()
torch.distributions.Gamma(p, p + 1).log_prob(p); torch.distributions.Gamma(p, p + 1).entropy()
torch.distributions.Gamma(p, 2.0).variance
torch.distributions.Gamma(p, p).cdf(p); torch.distributions.Chi2(p).log_prob(p)
torch.distributions.StudentT(p, x, p).log_prob(y)
torch.distributions.StudentT(p * 3).variance; torch.distributions.StudentT(p).entropy()
torch.distributions.Beta(p, p * 2).log_prob(p / 9)
torch.distributions.Beta(p, 1.5).entropy(); torch.distributions.Beta(p, 1.5).mean
torch.distributions.Dirichlet(p).log_prob(p.softmax(1))
torch.distributions.Dirichlet(p).entropy(); torch.distributions.Dirichlet(p).variance
torch.distributions.Binomial(4, p / 9).log_prob(i.float())
torch.distributions.Binomial(4, logits=x).mean; torch.distributions.Binomial(4, p / 9).variance
torch.distributions.kl_divergence(torch.distributions.Gamma(p, 1.5), torch.distributions.Gamma(2.0, p))
torch.distributions.kl_divergence(torch.distributions.Beta(p, 1.5), torch.distributions.Beta(2.0, p))
torch.distributions.kl_divergence(torch.distributions.Dirichlet(p), torch.distributions.Dirichlet(p * 2))
torch.distributions.ContinuousBernoulli(p / 3).log_prob(p / 3); torch.distributions.ContinuousBernoulli(p / 3).variance
torch.distributions.FisherSnedecor(p, p + 4).log_prob(p); torch.distributions.FisherSnedecor(p, p + 4).variance
torch.distributions.GeneralizedPareto(0.0, p, 0.3).entropy(); torch.distributions.GeneralizedPareto(x, p, 0.3).mean
torch.distributions.HalfCauchy(p).log_prob(p); torch.distributions.HalfCauchy(p).icdf(p / 3)
torch.distributions.InverseGamma(p, 2.0).log_prob(p); torch.distributions.InverseGamma(p, 2.0).entropy()
torch.distributions.Kumaraswamy(p, 2.0).log_prob(p / 3); torch.distributions.Kumaraswamy(p, 2.0).variance
torch.distributions.Pareto(p, 3.0).log_prob(p * 2); torch.distributions.Weibull(p, 3.0).log_prob(p)
torch.distributions.LogisticNormal(x, p).log_prob(torch.full((5,), 0.2)); torch.distributions.VonMises(x, p).log_prob(y)
torch.distributions.LowRankMultivariateNormal(x[0], x.T, p[0]).log_prob(y)
torch.distributions.LowRankMultivariateNormal(x[0], x.T, p[0]).precision_matrix
torch.distributions.MultivariateNormal(x, precision_matrix=s @ s.T + torch.eye(4)).log_prob(y)
torch.distributions.MultivariateNormal(x, scale_tril=s.tril(-1) + torch.eye(4)).covariance_matrix
torch.distributions.Wishart(6.0, s @ s.T + torch.eye(4)).log_prob(torch.eye(4))
torch.distributions.LogNormal(x, p).mode
torch.distributions.Wishart(6.0, s @ s.T + torch.eye(4)).entropy()
torch.distributions.LKJCholesky(3, p[0]).log_prob(torch.eye(3)); torch.distributions.Multinomial(4, p).entropy()
torch.distributions.Multinomial(6, p).log_prob(i.float())
torch.distributions.NegativeBinomial(p, p / 9).log_prob(p.round())
torch.distributions.RelaxedBernoulli(0.7 + 0 * p[0, 0], p / 3).log_prob(p / 3)
torch.distributions.RelaxedOneHotCategorical(0.7 + 0 * p[0, 0], p).log_prob(p.softmax(1))
[d := torch.distributions, d.MixtureSameFamily(d.Categorical(p), d.Normal(x, p)).variance][1]
[d := torch.distributions, d.MixtureSameFamily(d.Categorical(p), d.Normal(x, p)).log_prob(v[1:])][1]
[d := torch.distributions, d.TransformedDistribution(d.Normal(x, p), d.TanhTransform()).log_prob(y)][1]
torch.distributions.OneHotCategoricalStraightThrough(p).rsample().shape; torch.distributions.Dirichlet(p).mode
torch.distributions.StickBreakingTransform()(x); torch.distributions.CorrCholeskyTransform()(x[:, :3])
torch.distributions.biject_to(torch.distributions.constraints.simplex)(x)
torch.distributions.transform_to(torch.distributions.constraints.interval(1.0, p))(x)
torch.distributions.Independent(torch.distributions.Normal(x, p), 1).expand((2, 3)).log_prob(y)
torch.linalg.lu(s).L; torch.linalg.lu(x.T).U; torch.linalg.lu_factor(s).pivots
torch.lu_unpack(*torch.linalg.lu_factor(s)).P
torch.linalg.lu_solve(*torch.linalg.lu_factor(s), x.T); torch.triangular_solve(x.T, s).solution; torch.geqrf(x)
torch.autograd.grad(torch.linalg.lu(w).L.sin().sum(), w); torch.autograd.grad(torch.linalg.lu(w.T).U.sin().sum(), w)
torch.linalg.householder_product(*torch.geqrf(x.T)); torch.ormqr(*torch.geqrf(x.T), x.T, True, True)
torch.svd_lowrank(x @ s, 3)[1]; torch.pca_lowrank(x, 2)[1]
torch.igamma(p, p); torch.igammac(p, p); torch.polygamma(1, p); p.polygamma(1); torch.nanmedian(x / (x > 0), 1)
torch.nanmedian(x); torch.narrow_copy(x, 1, 1, 2); torch.put(x, i[0], v); x.put(i[0, :3], v[:3], True)
torch.histogram(x, 4); torch.histogram(x, 3, range=(-1.0, 0.5), density=True); x.histogram(v.sort()[0])
torch.histogram(x, 5, weight=p); torch.frobenius_norm(x, (0, 1)); torch.is_signed(i); torch.is_conj(x)
torch.resolve_conj(z.conj()); torch.unsafe_chunk(x, 2, 1); torch.unsafe_split(x, 2); c(x).cumsum_(1); c(x).cumprod_(0)
e(3, 3).addmm_(x, y.T, alpha=2); e(3).addmv_(x, v); e(5, 2, 2).baddbmm_(seq, seq.mT, beta=0.5); e(3, 4).addr_(v[:3], v)
c(x).ldexp_(i); (p + 3).mvlgamma_(2); c(p).igamma_(p); c(p).polygamma_(2); c(x).put_(i[0], v)
v.repeat(20).stft(16, 4, return_complex=True)
torch.autograd.grad(F.logsigmoid(w * 0).sum(), w); torch.autograd.grad(torch.xlogy(w * 0, p).sum(), w)
torch.autograd.grad(F.binary_cross_entropy_with_logits(w * 0, m.float()), w)
torch.autograd.grad(torch.special.i0e(w).sum(), w); torch.autograd.grad(torch.special.log_ndtr(w).sum(), w)
torch.special.chebyshev_polynomial_t(x, 4); torch.special.laguerre_polynomial_l(x, i.float())
torch.special.zeta(p + 1, p)
torch.special.polygamma(2, p); torch.special.modified_bessel_k1(p); torch.special.hermite_polynomial_he(x, 5)
"""
