{
  // The language switch keeps the section that is being read, and what instruments show.
  const language = document.querySelector("a.language")
  for (const event of ["click", "auxclick", "contextmenu"]) {
    language?.addEventListener(event, () => {
      language.search = location.search
      language.hash = location.hash
    })
  }

  // The theme wraps each copy button in a <nav>: so many nameless landmarks hide the real ones.
  const unmark = () => {
    for (const nav of document.querySelectorAll("nav.md-code__nav:not([role])")) nav.role = "none"
  }
  unmark()
  new MutationObserver(unmark)
    .observe(document.querySelector("article"), { childList: true, subtree: true })

  // A table that is wider than the page has to scroll from the keyboard too.
  addEventListener("load", () => setTimeout(() => {
    const wraps = [...document.querySelectorAll(".md-typeset__scrollwrap")]
    const wide = wraps.filter(wrap => wrap.scrollWidth > wrap.clientWidth)
    for (const wrap of wide) wrap.tabIndex = 0
  }))

  // An instrument comes when its place is about to be seen. If it does not come, the figure stays.
  const mount = place => import("./instruments/frame.js").then(frame => frame.mount(place)).catch(() => {})
  const places = document.querySelectorAll("[data-instrument]")
  if (places.length && location.protocol !== "file:") {
    const near = new IntersectionObserver(seen => {
      for (const { isIntersecting, target } of seen) {
        if (!isIntersecting) continue
        near.unobserve(target)
        mount(target)
      }
    }, { rootMargin: "300px" })
    places.forEach(place => near.observe(place))
  }
}
