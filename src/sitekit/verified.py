"""The report on the page "How it is verified": everything that was proved, page by page."""

from __future__ import annotations

from html import escape

from proseproof.report import PageEntry, Report
from sitekit.badge import anchor

PLACE = "<!--sitekit: report-->"

_WORDS = {
    "zh": {
        "none": "这次构建之前没有运行核对，所以没有报告。",
        "total": "两种语言合计 {pages} 页，代码和输出 {shown} 段，其中 {accounted} 段有着落；"
        "核对 {blocks} 个代码块、{claims} 处论断和 {outputs} 段输出，跳过 {skipped} 个；"
        "论断中有 {formulas} 个公式；另有 {mentions} 处只是提到或引用了确实存在的代码。"
        "文字里的 {numbers} 个数都对应着代码{rules}。{versions}。",
        "rules": "；不算论断的，按规则分别是：{}",
        "head": "行 内容 规则 结论",
        "block": "代码块",
        "output": "输出",
        "listing": "源码清单",
        "holds": "成立",
        "fails": "不成立",
        "proved wrong": "确实是错的",
        "skipped": "跳过",
        "name": "名字",
        "text": "提及",
        "comparison": "比较",
        "table": "表格",
        "shape": "形状",
        "keyword": "关键字",
        "call": "调用",
        "number": "数字",
        "expression": "表达式",
        "path": "路径",
        "quotation": "引用",
        "assignment": "赋值",
        "constant": "常量",
        "display": "列表",
        "value": "值",
        "raises": "报错",
        "test": "检验",
        "command": "命令",
        "import": "导入",
        "string": "字符串",
        "formula": "公式",
        "bound formula": "对应代码的公式",
        "symbol": "符号",
        "date": "日期",
        "idiom": "习语",
        "marker": "编号",
        "one": "“一”和“零”",
        "ordinal": "序数",
        "part of a name": "名称的一部分",
        "pronoun": "代词",
        "quoted": "引语",
        "roughly": "约数",
    },
    "en": {
        "none": "The checks were not run before this build, so there is no report.",
        "total": "In both languages together, {pages} pages, {shown} blocks of code and output, "
        "{accounted} of them accounted for; {blocks} blocks, {claims} claims and {outputs} "
        "outputs checked, {skipped} skipped. {formulas} of the claims are formulas. Another "
        "{mentions} pieces of code are only mentioned or quoted, and exist. In the prose, "
        "{numbers} numbers are bound to code{rules}. {versions}.",
        "rules": "; those that are no claims, by rule: {}",
        "head": "line what rule verdict",
        "block": "block",
        "output": "output",
        "listing": "listing",
        "proved wrong": "wrong, as said",
    },
}


def overview(report: Report | None, language: str) -> str:
    """Every block, output, listing and claim of this language's pages, folded by page."""
    words = _WORDS[language]
    if report is None:
        return f"<p>{words['none']}</p>"
    comma = "，" if language == "zh" else ", "
    names = {"python": "Python"}
    made = [f"{names.get(name, name)} {version}" for name, version in report.versions.items()]
    by_rule = [f"{words.get(rule, rule)} {count}" for rule, count in report.rules.items()]
    rules = words["rules"].format(comma.join(by_rule)) if by_rule else ""
    total = words["total"].format(**report.totals, rules=rules, versions=comma.join(made))
    parts = [f"<p>{total}</p>"]
    for path, entry in sorted(report.pages.items()):
        if path.startswith(("docs/" + language, "README", "CONTRIBUTING")):
            parts.append(_folded(entry, words))
    return "\n".join(parts)


def _folded(entry: PageEntry, words: dict[str, str]) -> str:
    rows = [(b.line, words["block"], b.kind, b.verdict, b.reason) for b in entry.blocks]
    rows += [(o.line, words["output"], "", o.verdict, "") for o in entry.outputs]
    rows += [(q.line, words["listing"], q.spec, q.verdict, "") for q in entry.listings]
    rows += [
        (c.line, f"<code>{escape(c.span)}</code>", words.get(c.rule, c.rule), c.verdict, "")
        for c in entry.claims
    ]
    head = "".join(f"<th>{word}</th>" for word in words["head"].split())
    body = "".join(
        f"<tr><td>{line}</td><td>{what}</td><td>{escape(rule)}</td>"
        f"<td>{words.get(verdict, verdict)} {escape(reason)}</td></tr>"
        for line, what, rule, verdict, reason in sorted(rows, key=lambda row: row[0])
    )
    body += "".join(
        f'<tr><td>{f.line}</td><td colspan="3">{escape(f.message)}</td></tr>'
        for f in entry.findings
    )
    return (
        f'<details id="{anchor(entry.path)}"><summary>{entry.path}: {len(rows)}</summary>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></details>"
    )
