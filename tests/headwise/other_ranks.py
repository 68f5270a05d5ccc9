"""What the other process of a group does, in tests of data-parallel training."""

import os
from multiprocessing.synchronize import Event
from pathlib import Path

import torch

from headwise.data_parallel import joined, small_model, train


def trains(environ: dict[str, str], file: Path) -> None:
    """Train for three steps, and keep losses, weights and gradients."""
    os.environ.update(environ)
    with joined(300) as device:
        model = small_model().double()
        losses = list(train(model, device, 3))
    torch.save((losses, [(p.data, p.grad) for p in model.parameters()]), file)


def leaves(environ: dict[str, str], begun: Event, by: int) -> None:
    """Train, and in the middle send oneself a signal."""
    os.environ.update(environ)
    begun.set()
    with joined(300) as device:
        for step, _ in enumerate(train(small_model(), device, 100)):
            if step == 2:
                os.kill(os.getpid(), by)
