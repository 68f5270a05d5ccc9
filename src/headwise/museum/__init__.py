"""Wrong code that runs: each piece beside its correction and a test that tells them apart.

Every wrong function returns, without an error, something of the right shape. Its detector is a
test for one's own code: it takes a function, returns nothing when all is well, and otherwise
raises an AssertionError that says what is wrong with the numbers. The function may return any
dtype, a NumPy array or nested lists; where masks are involved, convention says what they mean.
"""

from headwise.museum.choosing import (
    CHOOSING,
    kept_tokens_reach_top_p,
    temperature_changes_the_odds,
)
from headwise.museum.detecting import Convention
from headwise.museum.exhibit import Exhibit
from headwise.museum.keys import (
    KEYS,
    every_group_reads_its_own_keys,
    last_query_sees_every_key,
    order_of_keys_changes_nothing,
    window_shows_so_many_keys,
)
from headwise.museum.learning import (
    LEARNING,
    norm_only_scales,
    one_matrix_reads_and_writes,
    padding_costs_nothing,
    prompt_costs_nothing,
)
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
from headwise.museum.positions import (
    POSITIONS,
    farther_keys_get_less,
    only_queries_and_keys_turn,
    padding_moves_no_word,
    steps_count_on,
    weights_meet_their_own_layout,
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
    "TODAY",
    "Convention",
    "Exhibit",
    "evaluation_repeats_itself",
    "every_group_reads_its_own_keys",
    "every_head_gets_its_own_mask",
    "every_head_sees_every_token",
    "every_item_keeps_to_its_own_mask",
    "every_token_stays_itself",
    "farther_keys_get_less",
    "hidden_keys_get_nothing",
    "hidden_row_gives_zeros",
    "hidden_scores_change_nothing",
    "kept_tokens_reach_top_p",
    "last_query_sees_every_key",
    "nobody_looks_at_padding",
    "norm_only_scales",
    "one_matrix_reads_and_writes",
    "only_queries_and_keys_turn",
    "order_makes_a_difference",
    "order_of_keys_changes_nothing",
    "padding_costs_nothing",
    "padding_moves_no_word",
    "prompt_costs_nothing",
    "residual_alone_predicts_nothing",
    "rows_sum_to_one",
    "scores_are_dot_products",
    "scores_have_variance_one",
    "steps_count_on",
    "temperature_changes_the_odds",
    "token_i_sees_i_plus_one",
    "weights_meet_their_own_layout",
    "window_shows_so_many_keys",
]


def _in_order(*exhibits: Exhibit) -> tuple[Exhibit, ...]:
    return tuple(sorted(exhibits, key=lambda exhibit: int(exhibit.id[1:])))


EXHIBITS = _in_order(*SHAPES, *MASKS, *TRAINING)
# Of the attention of today.
TODAY = _in_order(*POSITIONS, *KEYS, *CHOOSING, *LEARNING)
