"""Code that may run on an accelerator is known by what it says."""

import pytest

from proseproof import device_code


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ('x.to("cuda:1")', True),
        ('device = "mps"', True),
        ("torch.accelerator.current_accelerator()", True),
        ("from torch import cuda", True),
        ("x.cuda()", True),
        ("device = choose()\nx.to(device)", True),
        ("from lib import device\nx = torch.ones(3, device=device)", True),
        ('device = torch.device("cpu")\nx.to(device)', False),
        ('device = "meta"\nx.to(device)', False),
        ("y = torch.ones(3, device=x.device)", False),
        ("def f(x, device):\n    return x.to(device)", False),
        ("x = 1  # cuda", False),
        ("x = (", False),
    ],
)
def test_code_that_may_run_on_an_accelerator_is_known(code: str, named: bool) -> None:
    assert device_code.is_named(code) is named


@pytest.mark.parametrize(
    ("code", "chosen"),
    [
        ('x.to("cuda")', True),
        ("x.cuda()", True),
        ("device = torch.accelerator.current_accelerator()", True),
        ("print(torch.cuda.is_available())", False),
        ("torch.backends.cuda.enable_flash_sdp(True)", False),
    ],
)
def test_question_about_the_machine_chooses_no_device(code: str, chosen: bool) -> None:
    assert device_code.chooses(code) is chosen
