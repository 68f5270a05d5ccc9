"""The line under a page's title that says what of it was proved."""

from __future__ import annotations

from pathlib import PurePosixPath

from proseproof.report import Report

_WORDS = {
    "zh": {
        "proved": "已核对：{what}。",
        "run": "运行 {} 个代码块",
        "compared": "比对 {} 处论断",
        "found": "{} 处提及都存在",
        "no code": "没有代码",
        "failed": "核对没有通过：{findings} 处不成立。",
        "changed": "这一页在上次核对之后改动过。",
        "unknown": "这一页还没有核对过。",
        "details": "详情",
    },
    "en": {
        "proved": "Checked: {what}.",
        "run": "blocks run {}",
        "compared": "claims compared {}",
        "found": "mentions found {}",
        "no code": "no code",
        "failed": "The check failed: {findings} findings.",
        "changed": "This page has changed since it was last checked.",
        "unknown": "This page has not been checked yet.",
        "details": "Details",
    },
}


def anchor(path: str) -> str:
    """Where on the report page this page is treated."""
    return "proof-" + "-".join(PurePosixPath(path).with_suffix("").parts[1:])


def badge(report: Report | None, path: str, text: str, language: str, link: str) -> str:
    """The line under a page's title."""
    words = _WORDS[language]
    entry = report.page(path) if report else None
    if report is None or entry is None:
        return f'<p class="proved">{words["unknown"]}</p>'
    if not entry.is_current(text):
        said = words["changed"]
    elif not entry.proved:
        said = words["failed"].format(findings=len(entry.findings))
    else:
        counts = (
            ("run", entry.blocks_run),
            ("compared", entry.claims_judged),
            ("found", entry.mentions_found),
        )
        what = [words[kind].format(count) for kind, count in counts if count] or [words["no code"]]
        comma = "，" if language == "zh" else ", "
        if "torch" in report.versions:
            what.append(f"torch {report.versions['torch']}")
        said = words["proved"].format(what=comma.join(what))
    return f'<p class="proved">{said} <a href="{link}#{anchor(path)}">{words["details"]}</a></p>'
