"""Wrong code that runs: each piece beside its correction and a test that tells them apart.

Every wrong function returns, without an error, something of the right shape. Its detector is a
test for one's own code: it takes a function, returns nothing when all is well, and otherwise
raises an AssertionError that says what is wrong with the numbers. The function may return any
dtype, a NumPy array or nested lists; where masks are involved, convention says what they mean.
"""

from headwise.museum.detecting import Convention
from headwise.museum.exhibit import Exhibit
from headwise.museum.masks import (
    MASKS,
    every_head_gets_its_own_mask,
    every_item_keeps_to_its_own_mask,
    hidden_keys_get_nothing,
    hidden_row_gives_zeros,
    hidden_scores_change_nothing,
    nobody_looks_at_padding,
    token_i_sees_i_plus_one,
)
from headwise.museum.shapes import (
    SHAPES,
    every_head_sees_every_token,
    every_token_stays_itself,
    rows_sum_to_one,
    scores_are_dot_products,
)
from headwise.museum.training import (
    TRAINING,
    evaluation_repeats_itself,
    order_makes_a_difference,
    residual_alone_predicts_nothing,
    scores_have_variance_one,
)

__all__ = [
    "EXHIBITS",
    "Convention",
    "Exhibit",
    "evaluation_repeats_itself",
    "every_head_gets_its_own_mask",
    "every_head_sees_every_token",
    "every_item_keeps_to_its_own_mask",
    "every_token_stays_itself",
    "hidden_keys_get_nothing",
    "hidden_row_gives_zeros",
    "hidden_scores_change_nothing",
    "nobody_looks_at_padding",
    "order_makes_a_difference",
    "residual_alone_predicts_nothing",
    "rows_sum_to_one",
    "scores_are_dot_products",
    "scores_have_variance_one",
    "token_i_sees_i_plus_one",
]

EXHIBITS = tuple(sorted(SHAPES + MASKS + TRAINING, key=lambda exhibit: int(exhibit.id[1:])))
