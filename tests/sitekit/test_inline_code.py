"""Code in a sentence stays whole where a browser would tear it, and parts where it should."""

import pytest

from sitekit.inline_code import keep_words


def _one(code: str) -> str:
    before, after = '<p>so <code class="text">', "</code>, too</p>"
    return keep_words(before + code + after).removeprefix(before).removesuffix(after)


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("num_heads", "num_heads"),
        ("train --seed 1", 'train <span class="kept">--seed</span> 1'),
        ("attention(x)[1]", '<span class="kept">attention(x)[1]</span>'),
        ("x = &quot;a&quot;", 'x = <span class="kept">&quot;a&quot;</span>'),
        ("a_name_of_many_letters_by_itself", "a_name_of_many_letters_by_itself"),
        ("of.a_module.a_function(an_argument)", "of.a_module.a_function(<wbr>an_argument)"),
        ("a_function_without_arguments()", "a_function_without_arguments()"),
        (
            "A_VARIABLE_IN_CAPITALS=a_value_that_is_long",
            "A_VARIABLE_IN_CAPITALS=<wbr>a_value_that_is_long",
        ),
    ],
)
def test_line_ends_between_words_or_before_an_argument(code: str, shown: str) -> None:
    assert _one(code) == shown


def test_block_is_left_as_it_is() -> None:
    block = "<pre><span></span><code>a --b\n</code></pre>"
    assert keep_words(block) == block
