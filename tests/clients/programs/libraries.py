"""Training and generating with transformers, lightning, accelerate and torchmetrics: prints results as JSON.

`python tests/clients/programs/libraries.py` where PyTorch is installed prints what libraries.json has. Data and first
weights are NumPy's random numbers, so no library's generator plays a part.
"""

import json
import logging
import tempfile
import warnings

import accelerate
import lightning
import numpy as np
import torch
import torchmetrics
import transformers as T
from lightning.fabric.plugins.environments import LightningEnvironment
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")


def numbers(seed, *shape):
    """Returns the same random numbers in every library."""
    return torch.from_numpy(np.random.RandomState(seed).randn(*shape).astype("float32"))


def filled(model, scale=0.3):
    """Gives parameters random numbers, in their order."""
    with torch.no_grad():
        for seed, parameter in enumerate(model.parameters()):
            parameter.copy_(numbers(seed, *parameter.shape) * scale)
    return model


def network():
    """Returns a small regression network."""
    return filled(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)))


def examples():
    """Returns a loader of examples whose target is the sum of their features."""
    x = numbers(9, 64, 4)
    return DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), 16)


def generation():
    """Greedy search with and without cache, with a static cache, and beams."""
    config = T.LlamaConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                           intermediate_size=48, vocab_size=99, bos_token_id=1, pad_token_id=0,
                           eos_token_id=None)  # fmt: skip
    model = filled(T.LlamaForCausalLM(config)).eval()
    words = torch.from_numpy(np.random.RandomState(0).randint(3, 90, (2, 5)))
    mask = torch.ones_like(words)
    return [
        model.generate(words, attention_mask=mask, max_new_tokens=8, do_sample=False, **options).tolist()
        for options in ({}, {"use_cache": False}, {"cache_implementation": "static"}, {"num_beams": 3},
                        {"repetition_penalty": 1.3, "no_repeat_ngram_size": 2})
    ]  # fmt: skip


class Sentences(torch.utils.data.Dataset):
    """Random words, labeled by the first one."""

    def __len__(self):
        return 32

    def __getitem__(self, i):
        words = np.random.RandomState(i).randint(3, 90, 12)
        return {"input_ids": torch.tensor(words), "labels": int(words[0] > 45)}


def trainer():
    """transformers' Trainer: 50 steps with a schedule, clipping, evaluation and checkpoints, a model that is saved and
    loaded, and a run that goes on from a checkpoint."""
    config = T.BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48,
                          vocab_size=99, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        options = T.TrainingArguments(folder, per_device_train_batch_size=8, max_steps=50, learning_rate=5e-3,
                                      save_steps=25, lr_scheduler_type="cosine", warmup_steps=3, report_to=[],
                                      use_cpu=True,
                                      disable_tqdm=True, logging_steps=10)  # fmt: skip
        model = filled(T.BertForSequenceClassification(config), 0.1)
        made = T.Trainer(model, options, train_dataset=Sentences(), eval_dataset=Sentences(), optimizers=(None, None))
        made.get_train_dataloader = lambda: DataLoader(Sentences(), 8)
        loss = made.train().training_loss
        curve = [entry["loss"] for entry in made.state.log_history if "loss" in entry]
        found = [loss, made.evaluate()["eval_loss"], *curve]
        made.save_model(f"{folder}/model")
        loaded = T.BertForSequenceClassification.from_pretrained(f"{folder}/model")
        same = all(
            torch.equal(a, b) for a, b in zip(model.state_dict().values(), loaded.state_dict().values(), strict=True)
        )
        again = T.Trainer(loaded, options, train_dataset=Sentences())
        again.get_train_dataloader = made.get_train_dataloader
        again.train(resume_from_checkpoint=f"{folder}/checkpoint-25")
        rest = max(float((a - b).abs().max()) for a, b in zip(model.parameters(), loaded.parameters(), strict=True))
        return [*found, same, rest < 1e-6]


class Regression(lightning.LightningModule):
    """The network as a module of lightning."""

    def __init__(self, rate=0.05):
        super().__init__()
        self.save_hyperparameters()
        self.net = network()

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        self.log("loss", loss)
        return loss

    validation_step = training_step

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.rate)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 3)]


def fit():
    """lightning's Trainer.fit with a checkpoint, and a run that goes on from it."""
    with tempfile.TemporaryDirectory() as folder:
        # Named, because lightning looks for others by importing mpi4py, which fails where there is no MPI.
        options = {"accelerator": "cpu", "default_root_dir": folder, "logger": False, "enable_progress_bar": False,
                   "plugins": [LightningEnvironment()]}  # fmt: skip
        made = lightning.Trainer(max_epochs=4, gradient_clip_val=1.0, **options)
        made.fit(Regression(), examples(), examples())
        path = made.checkpoint_callback.best_model_path
        again = lightning.Trainer(max_epochs=6, enable_checkpointing=False, **options)
        again.fit(Regression.load_from_checkpoint(path), examples(), ckpt_path=path)
        return [float(made.callback_metrics["loss"]), float(again.callback_metrics["loss"]), again.current_epoch]


def loop():
    """accelerate's loop with accumulated gradients, and its checkpoints."""
    made = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 4)
    model, optimizer, loader, schedule = made.prepare(model, optimizer, examples(), schedule)
    for _ in range(4):
        for x, y in loader:
            with made.accumulate(model):
                loss = torch.nn.functional.mse_loss(model(x), y)
                made.backward(loss)
                if made.sync_gradients:
                    made.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
    with tempfile.TemporaryDirectory() as folder:
        made.save_state(folder)
        made.load_state(folder)
    return [float(made.gather_for_metrics(loss)), schedule.get_last_lr()[0]]


def metrics():
    """Metrics of torchmetrics."""
    classes = {"task": "multiclass", "num_classes": 5}
    scores, targets = numbers(1, 50, 5).softmax(-1), torch.arange(50) % 5
    a, b = numbers(2, 40), numbers(2, 40) + 0.3 * numbers(3, 40)
    first, second = numbers(4, 2, 3, 16, 16).sigmoid(), numbers(5, 2, 3, 16, 16).sigmoid()
    given = {
        "Accuracy": (classes, scores, targets), "F1Score": ({**classes, "average": "macro"}, scores, targets),
        "AUROC": (classes, scores, targets), "AveragePrecision": (classes, scores, targets),
        "CohenKappa": (classes, scores, targets), "MatthewsCorrCoef": (classes, scores, targets),
        "CalibrationError": (classes, scores, targets), "MeanSquaredError": ({}, a, b), "R2Score": ({}, a, b),
        "PearsonCorrCoef": ({}, a, b), "SpearmanCorrCoef": ({}, a, b), "KLDivergence": ({}, scores, scores.flip(1)),
    }  # fmt: skip
    found = {}
    for name, (options, x, y) in given.items():
        metric = getattr(torchmetrics, name)(**options)
        metric.update(x[:20], y[:20])
        metric.update(x[20:], y[20:])
        found[name] = float(metric.compute())
    for name in ("StructuralSimilarityIndexMeasure", "PeakSignalNoiseRatio"):
        found[name] = float(getattr(torchmetrics.image, name)(data_range=1.0)(first, second))
    return found


if __name__ == "__main__":
    T.logging.set_verbosity_error()
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    parts = (generation, trainer, fit, loop, metrics)
    print("RESULTS", json.dumps({part.__name__: part() for part in parts}))
