"""RMSNorm: against PyTorch's, and where it differs from layer normalisation."""

import copy
import pickle

import pytest
import torch
from torch import Tensor, nn

from headwise.rms_norm import RMSNorm


def ready(d_model: int = 6, eps: float = 1e-5) -> RMSNorm:
    torch.manual_seed(0)
    module = RMSNorm(d_model, eps)
    nn.init.normal_(module.weight)
    return module


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", [(6,), (3, 6), (2, 3, 6), (0, 6)])
def test_equals_pytorchs(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    ours, theirs = ready().to(dtype), nn.RMSNorm(6, 1e-5).to(dtype)
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(*shape, dtype=dtype, requires_grad=True)
    assert ours(x).dtype == dtype
    torch.testing.assert_close(ours(x), theirs(x))

    def gradient(module: nn.Module) -> Tensor:
        return torch.autograd.grad(module(x).square().sum(), x)[0]

    torch.testing.assert_close(gradient(ours), gradient(theirs), rtol=0.05, atol=0.05)


def test_root_of_the_mean_square_is_one_and_the_mean_stays() -> None:
    x = torch.randn(4, 6, dtype=torch.float64) + 3
    out = RMSNorm(6, 1e-12).double()(x)
    torch.testing.assert_close(out.square().mean(-1).sqrt(), torch.ones(4, dtype=torch.float64))
    assert (out.mean(-1) > 0.5).all()


def test_only_the_direction_counts() -> None:
    x = torch.randn(4, 6, dtype=torch.float64)
    module = RMSNorm(6, 1e-12).double()
    torch.testing.assert_close(module(x), module(50 * x))


def test_large_numbers_in_half_precision_do_not_overflow() -> None:
    x = torch.full((1, 6), 300.0, dtype=torch.float16)
    assert x.square().isinf().all()
    assert RMSNorm(6).half()(x).tolist() == [[1.0] * 6]


def test_zeros_stay_zeros() -> None:
    x = torch.zeros(2, 6, requires_grad=True)
    out = RMSNorm(6)(x)
    out.sum().backward()
    assert not out.any()
    assert x.grad is not None and x.grad.isfinite().all()


def test_copies_pickles_and_shows_its_settings() -> None:
    module, x = ready(), torch.randn(2, 6)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(other(x), module(x))
    assert repr(module) == "RMSNorm(6, eps=1e-05)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RMSNorm(0), "d_model: got 0"),
        (lambda: RMSNorm(6, 0), "eps: got 0, expected a number of more than 0 and at most 1"),
        (lambda: RMSNorm(6, float("nan")), "eps: got nan"),
        (lambda: RMSNorm(6)(torch.randn(3, 5)), r"x: got shape \(3, 5\), expected \(3, 6\)"),
        (lambda: RMSNorm(6)(torch.tensor(1.0)), r"x: got shape \(\), expected \(6,\)"),
        (lambda: RMSNorm(6)(torch.ones(3, 6).half()), "x: got dtype torch.float16"),
    ],
)
def test_wrong_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_wrong_kind_is_named() -> None:
    with pytest.raises(TypeError, match="eps: got 'small', expected a number"):
        RMSNorm(6, "small")  # type: ignore[arg-type]
