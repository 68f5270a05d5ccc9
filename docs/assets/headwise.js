{
  // The language switch keeps the section that is being read.
  const language = document.querySelector("a.language")
  for (const event of ["click", "auxclick", "contextmenu"]) {
    language?.addEventListener(event, () => { language.hash = location.hash })
  }

  const mend = () => {
    // The theme wraps each copy button in a <nav>: so many nameless landmarks hide the real ones.
    for (const nav of document.querySelectorAll("nav.md-code__nav:not([role])")) nav.role = "none"
    // A table that is wider than the page has to scroll from the keyboard too.
    for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap")) {
      if (wrap.scrollWidth > wrap.clientWidth) wrap.tabIndex = 0
    }
  }
  mend()
  new MutationObserver(mend)
    .observe(document.querySelector("article"), { childList: true, subtree: true })
}
