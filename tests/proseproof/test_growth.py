"""Orders of growth are those of what is counted, tightly."""

import pytest

from proseproof import growth

RIGHT = [
    (lambda n: 3 * n + 2, lambda at: at["n"]),
    (lambda n: 7, lambda at: 1),
    (lambda n: n * (n + 1) // 2, lambda at: at["n"] ** 2),
    (lambda n, d: 2 * n * n * d + n, lambda at: at["n"] ** 2 * at["d"]),
]
WRONG = [
    (lambda n: n, lambda at: at["n"] ** 2, "n^1, not n^2"),
    (lambda n: n**2, lambda at: at["n"], "n^2, not n^1"),
    (lambda n: n, lambda at: 1, "n^1, not n^0"),
    (lambda n, d: n * d**2, lambda at: at["n"] ** 2 * at["d"], "n^1, not n^2"),
    (lambda n, d: n * d**2, lambda at: at["n"] * at["d"], "d^2, not d^1"),
    (lambda n: 0, lambda at: at["n"], "it counts 0"),
]


@pytest.mark.parametrize(("count", "order"), RIGHT)
def test_right_order_holds(count, order) -> None:
    names = list(count.__code__.co_varnames)
    assert growth.wrong(count, order, names) == ""


@pytest.mark.parametrize(("count", "order", "truth"), WRONG)
def test_wrong_order_is_told_with_the_true_one(count, order, truth) -> None:
    names = list(count.__code__.co_varnames)
    assert truth in growth.wrong(count, order, names)
