"""Examples of twelve libraries that are made for PyTorch: prints results as JSON.

`python tests/clients/programs/more_libraries.py` where PyTorch is installed prints what more_libraries.json has. Data
and first weights are NumPy's random numbers, so no library's generator plays a part, but where a result is a bound.
"""

import json
import tempfile
import warnings

import numpy as np
import torch

warnings.simplefilter("ignore")


def numbers(seed, *shape):
    """Returns the same random numbers in every library."""
    return torch.from_numpy(np.random.RandomState(seed).randn(*shape).astype("float32"))


def filled(model, scale=0.1):
    """Gives parameters random numbers, in their order."""
    with torch.no_grad():
        for seed, parameter in enumerate(model.parameters()):
            parameter.copy_(numbers(seed, *parameter.shape) * scale)
    return model


def trained(model, loss_of, steps=3, rate=0.01):
    """Returns the losses of some steps."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    losses = []
    for _ in range(steps):
        loss = loss_of(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    return losses


def diffusers():
    """A denoising network that is trained, sampled by several schedulers, saved and loaded."""
    import diffusers as d

    unet = filled(d.UNet2DModel(
        sample_size=8, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(32, 64),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    ))  # fmt: skip
    clean, noise, times = numbers(1, 2, 3, 8, 8), numbers(2, 2, 3, 8, 8), torch.tensor([3, 70])
    noisy = d.DDPMScheduler(num_train_timesteps=100).add_noise(clean, noise, times)
    found = trained(unet, lambda m: torch.nn.functional.mse_loss(m(noisy, times).sample, noise))
    for kind in (d.DDIMScheduler, d.DPMSolverMultistepScheduler, d.EulerDiscreteScheduler, d.HeunDiscreteScheduler):
        scheduler = kind(num_train_timesteps=50)
        scheduler.set_timesteps(3)
        x = numbers(5, 1, 3, 8, 8)
        with torch.no_grad():
            for t in scheduler.timesteps:
                x = scheduler.step(unet(scheduler.scale_model_input(x, t), t).sample, t, x).prev_sample
        found.append(float(x.abs().mean()))
    pipe = d.DDIMPipeline(unet, d.DDIMScheduler(num_train_timesteps=50))
    pipe.set_progress_bar_config(disable=True)
    generator = torch.Generator().manual_seed(0)
    images = pipe(batch_size=1, num_inference_steps=2, generator=generator, output_type="np").images
    with tempfile.TemporaryDirectory() as folder:
        unet.save_pretrained(folder)
        again = d.UNet2DModel.from_pretrained(folder)
        same = all(torch.equal(a, b) for a, b in zip(again.parameters(), unet.parameters(), strict=True))
    return [*found, list(images.shape), same]


def peft():
    """Adapters of a language model, trained and merged."""
    import peft as p
    import transformers as t

    config = t.LlamaConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
                           intermediate_size=48, vocab_size=99)  # fmt: skip
    words = torch.from_numpy(np.random.RandomState(0).randint(3, 90, (2, 7)))
    found = []
    for kind in (
        p.LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
        p.IA3Config(target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"], task_type="CAUSAL_LM"),
        p.PromptTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"),
        p.LoraConfig(r=4, use_dora=True, target_modules="all-linear"),
    ):
        model = p.get_peft_model(filled(t.LlamaForCausalLM(config), 0.2), kind)
        with torch.no_grad():
            for seed, parameter in enumerate(q for q in model.parameters() if q.requires_grad):
                parameter.copy_(numbers(seed, *parameter.shape) * 0.1)
        found += trained(model, lambda m: m(input_ids=words, labels=words).loss)
        found += model.get_nb_trainable_parameters()
        if isinstance(kind, p.LoraConfig):
            before = model.eval()(input_ids=words).logits
            found.append(torch.allclose(model.merge_and_unload()(input_ids=words).logits, before, atol=1e-4))
    return found


def kornia():
    """Filters, colors, geometry, morphology and losses of images."""
    import kornia as k

    x, y = numbers(0, 2, 3, 20, 24).sigmoid(), numbers(1, 2, 3, 20, 24).sigmoid()
    x.requires_grad_()
    loss = k.losses.ssim_loss(x, y, 5)
    loss.backward()
    moved = torch.eye(3)[None].repeat(2, 1, 1) + 0.01 * numbers(3, 2, 3, 3)
    found = {
        "blur": k.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5)), "sobel": k.filters.sobel(x),
        "canny": k.filters.canny(x)[0], "median": k.filters.median_blur(x, (3, 3)), "lab": k.color.rgb_to_lab(x),
        "rotate": k.geometry.rotate(x, torch.tensor([30.0, 60.0])), "pyramid": k.geometry.pyrdown(x),
        "warp": k.geometry.warp_perspective(x, moved, (20, 24)), "equalize": k.enhance.equalize(x),
        "dilation": k.morphology.dilation(x, torch.ones(3, 3)), "corners": k.feature.harris_response(x),
        "homography": k.geometry.find_homography_dlt(numbers(4, 1, 8, 2), numbers(5, 1, 8, 2)),
        "loss": loss, "gradient": x.grad,
    }  # fmt: skip
    return {name: float(value.detach().double().abs().mean()) for name, value in found.items()}


def torchdiffeq():
    """Differential equations by several methods, with gradients, and an event."""
    from torchdiffeq import odeint, odeint_adjoint, odeint_event

    matrix, first, times = (
        torch.tensor([[-0.1, 2.0], [-2.0, -0.1]]),
        torch.tensor([[2.0, 0.0]]),
        torch.linspace(0, 1, 6),
    )

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))

        def forward(self, t, y):
            return self.net(y**3)

    def truth(t, y):
        return (y**3) @ matrix

    exact = odeint(truth, first, times)
    found = [float(exact.abs().sum())]
    for solve in (odeint, odeint_adjoint):
        found += trained(filled(Network()), lambda m, s=solve: (s(m, first, times, method="rk4") - exact).abs().mean())
    for method in ("midpoint", "dopri8", "bosh3", "implicit_adams"):
        found.append(float(odeint(truth, first, times, method=method).abs().sum()))
    falling = (torch.tensor([10.0]), torch.tensor([0.0]))
    time, _ = odeint_event(lambda t, s: (s[1], torch.full_like(s[1], -9.8)), falling, torch.tensor([0.0]),
                           event_fn=lambda t, s: s[0], atol=1e-6, rtol=1e-6)  # fmt: skip
    return [*found, float(time)]


def torchsde():
    """A stochastic differential equation without noise, which does not depend on random numbers."""
    import torchsde as s

    class Equation(torch.nn.Module):
        noise_type, sde_type = "diagonal", "ito"

        def __init__(self):
            super().__init__()
            self.mu, self.sigma = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

        def f(self, t, y):
            return self.mu(y)

        def g(self, t, y):
            return self.sigma(y).sigmoid() * 0

    model, times, first = filled(Equation()), torch.linspace(0, 1, 4), numbers(1, 4, 3)
    motion = s.BrownianInterval(t0=0.0, t1=1.0, size=(4, 3), entropy=3, levy_area_approximation="space-time")
    options = {"bm": motion, "dt": 0.2}
    found = [float(s.sdeint(model, first, times, method=m, **options).sum()) for m in ("euler", "milstein", "srk")]
    return found + trained(
        model, lambda m: s.sdeint_adjoint(m, first, times, method="euler", **options).pow(2).mean(), 2
    )  # fmt: skip


def gpytorch():
    """Gaussian processes with several kernels, and a variational one."""
    import gpytorch as g

    x = torch.linspace(0, 1, 20)
    y = torch.sin(x * 6.28) + 0.1 * numbers(0, 20)

    class Exact(g.models.ExactGP):
        def __init__(self, likelihood, kernel):
            super().__init__(x, y, likelihood)
            self.mean_module, self.covar_module = g.means.ConstantMean(), g.kernels.ScaleKernel(kernel)

        def forward(self, x):
            return g.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    class Variational(g.models.ApproximateGP):
        def __init__(self, points):
            chosen = g.variational.CholeskyVariationalDistribution(len(points))
            super().__init__(g.variational.VariationalStrategy(self, points, chosen, learn_inducing_locations=True))
            self.mean_module, self.covar_module = g.means.ConstantMean(), g.kernels.ScaleKernel(g.kernels.RBFKernel())

        forward = Exact.forward

    found = []
    for kernel in (g.kernels.RBFKernel(), g.kernels.MaternKernel(2.5), g.kernels.PeriodicKernel()):
        likelihood = g.likelihoods.GaussianLikelihood()
        model = Exact(likelihood, kernel)
        objective = g.mlls.ExactMarginalLogLikelihood(likelihood, model)
        found += trained(model, lambda m, o=objective: -o(m(x), y), 3, 0.1)
        model.eval()
        likelihood.eval()
        with torch.no_grad(), g.settings.fast_pred_var():
            predicted = likelihood(model(torch.linspace(0, 1, 7)))
        found += [float(predicted.mean.abs().sum()), float(predicted.variance.sum())]
    model, likelihood = Variational(x[::5].clone()), g.likelihoods.GaussianLikelihood()
    model.variational_strategy.variational_params_initialized.fill_(1)
    bound = g.mlls.VariationalELBO(likelihood, model, 20)
    return found + trained(model, lambda m: -bound(m(x), y), 3, 0.1)


def botorch():
    """A fitted Gaussian process, acquisition functions, and the best candidate."""
    from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    x = torch.from_numpy(np.random.RandomState(0).rand(10, 2))
    y = 1 - (x - 0.5).norm(dim=-1, keepdim=True)
    model = SingleTaskGP(x, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    point = torch.tensor([[[0.3, 0.4]]], dtype=torch.float64)
    improvement = LogExpectedImprovement(model, best_f=y.max())
    bounds = torch.stack([torch.zeros(2), torch.ones(2)]).double()
    best, _ = optimize_acqf(improvement, bounds=bounds, q=1, num_restarts=2, raw_samples=8)
    bound = UpperConfidenceBound(model, beta=0.1)(point)
    # The fit stops where its steps are small, so that a few digits agree.
    return [
        round(float(model.posterior(point).mean), 2),
        round(float(bound), 2),
        bool(((best - 0.5).abs() < 0.1).all()),
    ]


def pyro():
    """Variational inference whose numbers do not depend on samples, and others within bounds."""
    import pyro as p
    from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
    from pyro.infer.autoguide import AutoDelta, AutoNormal

    p.set_rng_seed(0)
    tosses = torch.tensor([1.0] * 6 + [0.0] * 4)

    def coin(tosses):
        fair = p.sample("fair", p.distributions.Beta(torch.tensor(10.0), torch.tensor(10.0)))
        with p.plate("tosses", len(tosses)):
            p.sample("toss", p.distributions.Bernoulli(fair), obs=tosses)

    guide = AutoDelta(coin)
    inference = SVI(coin, guide, p.optim.Adam({"lr": 0.05}), Trace_ELBO())
    loss = [inference.step(tosses) for _ in range(80)][-1]
    chain = MCMC(NUTS(coin), num_samples=30, warmup_steps=20, disable_progbar=True)
    chain.run(tosses)
    mean = float(chain.get_samples()["fair"].mean())
    p.clear_param_store()

    def line(x, y=None):
        slope = p.sample("slope", p.distributions.Normal(torch.zeros(2), 1.0).to_event(1))
        with p.plate("points", len(x)):
            return p.sample("y", p.distributions.Normal(x @ slope, 0.1), obs=y)

    x = numbers(0, 30, 2)
    guide_of_line = AutoNormal(line)
    inference = SVI(line, guide_of_line, p.optim.ClippedAdam({"lr": 0.05}), Trace_ELBO())
    for _ in range(150):
        inference.step(x, x @ torch.tensor([1.0, -2.0]))
    slope = guide_of_line.median()["slope"]
    drawn = Predictive(line, guide=guide_of_line, num_samples=5)(x)["y"]
    near = (slope - torch.tensor([1.0, -2.0])).abs() < 0.3
    return [
        round(loss, 3),
        round(float(guide.median()["fair"]), 2),
        0.4 < mean < 0.7,
        bool(near.all()),
        list(drawn.shape),
    ]


def segmentation():
    """Networks of segmentation_models_pytorch, their losses and a metric."""
    import segmentation_models_pytorch as s

    x, y = numbers(0, 1, 3, 64, 64), (numbers(1, 1, 1, 64, 64) > 0).float()
    found = []
    for name in ("Unet", "FPN", "DeepLabV3Plus"):
        model = filled(getattr(s, name)("mobilenet_v2", encoder_weights=None), 0.05)
        loss = s.losses.DiceLoss("binary")(model.eval()(x), y)
        loss.backward()
        norms = [p.grad.double().norm() for p in model.parameters() if p.grad is not None]
        found += [float(loss), float(torch.stack(norms).norm())]
    counts = s.metrics.get_stats(x[:, :1].sigmoid(), y.long(), mode="binary", threshold=0.5)
    return [*found, float(s.metrics.iou_score(*counts, reduction="micro"))]


def entmax():
    """Sparse alternatives of softmax, and their gradients."""
    import entmax as e

    x, labels = numbers(0, 4, 6).requires_grad_(), torch.tensor([0, 1, 2, 3])
    found = [e.sparsemax(x, dim=-1), e.entmax15(x, dim=-1), e.entmax_bisect(x, alpha=1.3), e.budget_bisect(x, budget=2)]
    loss = sum((part * numbers(seed, 4, 6)).sum() for seed, part in enumerate(found))
    (loss + e.Entmax15Loss()(x, labels) + e.SparsemaxLoss()(x, labels)).backward()
    return [*(float(part.pow(2).sum()) for part in found), float(loss), float(x.grad.abs().sum())]


def x_transformers():
    """Decoders with several options, generation, and encoders."""
    import x_transformers as t

    words = torch.from_numpy(np.random.RandomState(0).randint(0, 50, (2, 12)))
    found = []
    for options in ({"rotary_pos_emb": True, "use_rmsnorm": True}, {"alibi_pos_bias": True, "ff_glu": True},
                    {"rel_pos_bias": True, "attn_qk_norm": True}, {"macaron": True, "attn_flash": True}):  # fmt: skip
        layers = t.Decoder(dim=32, depth=1, heads=2, attn_dim_head=32, **options)
        model = filled(t.TransformerWrapper(num_tokens=50, max_seq_len=16, attn_layers=layers))
        model = t.AutoregressiveWrapper(model)
        found += trained(model, lambda m: m(words), 2)
    found += model.generate(words[:, :3], 4, temperature=0.0).tolist()
    both = {f"{side}_{key}": value for side in ("enc", "dec")
            for key, value in (("num_tokens", 50), ("depth", 1), ("heads", 2), ("max_seq_len", 16))}  # fmt: skip
    return [*found, float(filled(t.XTransformer(dim=32, **both))(words, words))]


def vit_pytorch():
    """Vision transformers."""
    import importlib

    common = {"image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 16, "depth": 1, "heads": 2, "mlp_dim": 24}
    one = {"num_classes": 5, "s1_emb_dim": 8, "s1_heads": 1, "s2_emb_dim": 8, "s2_heads": 1, "s2_depth": 1,
           "s3_emb_dim": 8, "s3_heads": 1, "s3_depth": 1}  # fmt: skip
    found = []
    for module, name, options in (
        ("vit", "ViT", common), ("simple_vit", "SimpleViT", common), ("cait", "CaiT", common | {"cls_depth": 1}),
        ("deepvit", "DeepViT", common), ("xcit", "XCiT", common | {"cls_depth": 1}), ("cvt", "CvT", one),
        ("max_vit", "MaxViT",
         {"num_classes": 5, "dim_conv_stem": 8, "dim": 8, "dim_head": 8, "depth": (1, 1), "window_size": 4}),
    ):  # fmt: skip
        model = filled(getattr(importlib.import_module(f"vit_pytorch.{module}"), name)(**options)).eval()
        loss = torch.nn.functional.cross_entropy(model(numbers(0, 2, 3, 32, 32)), torch.tensor([1, 3]))
        loss.backward()
        norms = [p.grad.double().norm() for p in model.parameters() if p.grad is not None]
        found += [float(loss), float(torch.stack(norms).norm())]
    return found


if __name__ == "__main__":
    import sys

    parts = (diffusers, peft, kornia, torchdiffeq, torchsde, gpytorch, botorch, pyro, segmentation, entmax,
             x_transformers, vit_pytorch)  # fmt: skip
    chosen = [part for part in parts if not sys.argv[1:] or part.__name__ in sys.argv[1:]]
    print("RESULTS", json.dumps({part.__name__: part() for part in chosen}))
