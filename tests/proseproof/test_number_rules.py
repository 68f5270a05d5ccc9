"""What is a number and no claim: names, dates, ordinals and idioms, in both languages."""

from pathlib import Path

import pytest

from proseproof.number_rules import RULES, Judge
from proseproof.number_words import find
from proseproof.numbers import read
from proseproof.page_reader import read as read_page

NAMES = ("head", "token", "layer", "sentence", "word", "头", "词元", "词", "层", "Llama")
JUDGE = Judge(NAMES)

BY_RULE = {
    "marker": ["**1.** Multiply it.", "**2.** 换成另外的。"],
    "ordinal": ["The 3rd head.", "第 3 个头。", "2 号词元。", "理由：二是省。"],
    "part of a name": [
        "GPT-2 has it.",
        "Use float16.",
        "A 3D tensor.",
        "Q13 说过。",
        "用 A100 跑。",
    ],
    "date": ["It came out in 2017.", "The paper (2017) has it.", "2017 年的论文。", "6 月 12 日。"],
    "name": [
        "Head 1 looks back.",
        "Heads 1, 2 and 3.",
        "In layer 2.",
        "Python 3.11.",
        "词元 3 变了。",
    ],
    "quoted": ['It writes "five".', "它写出“五”。"],
    "idiom": [
        "Nine times out of ten.",
        "Half precision.",
        "It would divide 0 by 0.",
        "0 times NaN is NaN.",
        "三言两语说不清。",
        "四处张望。",
        "成了 0 除以 0。",
        "0 乘 NaN 还是 NaN。",
    ],
    "roughly": ["十几行代码。", "几百步之后。", "两三位数字。"],
    "pronoun": ["两者相同。", "三者都变。", "两边都改。"],
    "one": ["It is one of them.", "Set it to zero.", "一个头。", "都是零。"],
}


def test_every_rule_has_examples_in_both_languages() -> None:
    assert list(BY_RULE) == [*(name for name, _ in RULES), "one"]


@pytest.mark.parametrize(
    ("rule", "sentence"), [(rule, one) for rule, all_ in BY_RULE.items() for one in all_]
)
def test_rule_lets_its_examples_pass(rule: str, sentence: str) -> None:
    found = find(sentence)
    assert found
    assert {JUDGE.rule(sentence, one) for one in found} == {rule}


@pytest.mark.parametrize(
    "sentence",
    [
        "Two matrices are learned.",
        "It has 4 heads.",
        "Each head sees half of it.",
        "Twice as many numbers.",
        "It is divided by 0.5.",
        "We divide by 8.",
        "Rows 16 to 23 belong to it.",
        "The next head is 40 away.",
        "Vectors of length 4.",
        "2048 tokens fit.",
        "It takes up 25% more.",
        "One and a half words.",
        "两个矩阵。",
        "三个头。",
        "其中一半。",
        "两倍宽。",
        "第 16 到 23 行。",
        "十分之一。",
        "权重加起来等于 1。",
        "一百个数。",
        "占三分之二。",
        "长度为 4。",
    ],
)
def test_number_that_counts_or_measures_is_a_claim(sentence: str) -> None:
    assert "" in {JUDGE.rule(sentence, one) for one in find(sentence)}


ORDINARY = """
Attention lets each token look at every other one.
At first glance the heads all do the same thing.
The words are read one by one, and one after the other.
No one tells a head what to look for.
One can see the effect in a single plot.
This is one of the reasons why masks exist.
Tokens that wait for one another cost time.
Queries and keys come from one and the same sequence.
In one go, the whole sentence is projected.
On the one hand it is fast, on the other hand it needs memory.
Once trained, the weights stay as they are.
The first row belongs to the first token.
A second look at the formula helps.
Every third word is masked in that experiment.
Half precision saves memory, and costs digits.
Half of the story is told by the softmax.
It works halfway, and then it stops.
The paper of 2017 calls it scaled dot-product attention.
BERT followed in 2018, and many others since.
GPT-2 and BERT put the norm in different places.
With float16 the scores overflow sooner than with bfloat16.
A 2D mask broadcasts over heads and sentences.
Llama 3 groups its query heads.
You need Python 3.11 or newer.
Head 1 looks at the token before, head 2 at itself.
See chapter 3, step 2, and figure 4.
In layer 2, token 3 takes most from token 1.
Rows are queries and columns are keys.
A one-hot vector picks a row of the table.
Zero-shot prompts need no examples.
The tokens come in dozens, and the parameters in millions.
Hundreds of heads were looked at, and thousands of sentences.
A dozen lines of code are enough.
There are one or two exceptions.
It takes two or three attempts to get the mask right.
The mask is one thing, the padding is another.
Someone has to divide by the root, and everyone forgets it.
A pair of vectors is compared by their dot product.
Both languages run the same code.
The output is as wide as the input.
Nobody needs to remember the shapes by heart.
A zero in the mask hides the key.
Set the bias to zero and train again.
The rank 0 process writes the file.
Exercise 2 asks for the transpose.
The T5 paper uses relative positions.
It is a one-way street: the decoder cannot see the future.
An A100 has room for longer sequences.
For one thing, the softmax needs no parameters.
Two's complement has nothing to do with it.
Softmax turns scores into shares.
It writes "five", and then it stops.
The numbers are made up.
A head of its own can be left out.
注意力让每个词元都能看到别的词元。
一眼看去，所有的头都一样。
译文一词不差。
三言两语说不清注意力。
词元一个一个地读进来。
一般来说，掩码要在 softmax 之前加。
这两者没有什么不同。
一旦训练好，权重就不再变化。
它们一起决定输出。
查询和键来自同一个序列。
第一行属于第一个词元。
第 3 个头看的是前一个词元。
第二层的第 1 个头最锐利。
2017 年的论文把它叫作缩放点积注意力。
半精度省内存，但有效数字少。
用 float16 时，分数更容易溢出。
GPT-2 和 BERT 把归一化放在不同的地方。
Llama 3 的查询头是分组的。
需要 Python 3.11 或更新的版本。
见第 3 章，练习 2，图 4。
上三角全部遮住，下三角留着。
代码里有十几行值得细看。
几百步之后，损失不再下降。
成千上万个词元也放得下。
万一掩码写反了，模型会偷看答案。
这并不是说除以它就万事大吉了。
头与头之间千差万别。
这一点十分重要。
把多余的权重清零。
归一化之后，每个数都在同一个范围里。
四舍五入之后看不出差别。
五花八门的写法，算的是同一件事。
举一反三，换一种掩码试试。
二进制里没有这个问题。
二维的掩码会广播到所有的头。
再三检查转置的方向。
唯一的区别是布局。
一方面快，另一方面费内存。
每一步都写出形状。
统一的记号便于阅读。
进一步说，头与头互不相干。
两三个词元就能看出规律。
词元 3 只看得见自己和前面的。
0 号句子没有填充。
有几个头什么也没学到。
一个头一张表。
一边读，一边改。
第一，掩码；第二，缩放。
理由有：一是快，二是省。
它写出 five，然后停下。
“五”看的是它前面的“十”。
一层一层往上传。
半信半疑的话，自己跑一遍。
两边说同样的话。
四面八方的词元都看得见。
""".strip().splitlines()


def test_ordinary_sentences_are_a_hundred_and_half_of_them_are_chinese() -> None:
    chinese = [one for one in ORDINARY if "\u4e00" <= one[0] <= "\u9fff" or one[-1] == "。"]
    assert len(ORDINARY) >= 100
    assert 0.4 < len(chinese) / len(ORDINARY) < 0.6


@pytest.mark.parametrize("sentence", ORDINARY)
def test_ordinary_sentence_claims_no_number(sentence: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(f"# A {{#a}}\n\n{sentence}\n", encoding="utf-8")
    language = "zh" if sentence[-1] == "。" else "en"
    page = read_page(tmp_path, "page.md")
    found = read(page, Judge([*NAMES, "rank"]), language)
    assert [claim.key for claim in found.claims] == []
