"""Code in a sentence: where a line may end within it."""

import re
from html import unescape

# How many signs may not fit on what is left of a line on a phone, and how many on no line of it.
LONG, TOO_LONG = 24, 36

# The code of sentences holds text only; that of a block follows an empty span.
_CODE = re.compile(r"(?<!<span></span>)(<code(?: [^>]*)?>)([^<]*)(</code>)")
# A browser would end a line behind these signs, as after the hyphens of an option.
_TORN = re.compile(r'[-/?!)\]}"]|&quot;')


def keep_words(html: str) -> str:
    """The page with the words of its code kept whole, or parted where an argument begins."""

    def kept(match: re.Match[str]) -> str:
        return match[1] + "".join(map(_kept, re.split(r"(\s+)", match[2]))) + match[3]

    return _CODE.sub(kept, html)


def _kept(word: str) -> str:
    size = len(unescape(word))
    if size > LONG:
        ends = "(,[=" if size > TOO_LONG else "(,["
        return re.sub(rf"([{re.escape(ends)}])(?=[^)\]=])", r"\1<wbr>", word)
    return f'<span class="kept">{word}</span>' if _TORN.search(word[:-1]) else word
