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

  // An instrument comes when its place is about to be seen; one that has much to fetch comes when it
  // is asked for, by a button or in the address. If it does not come, the figure stays.
  const mount = place => import("./instruments/frame.js").then(frame => frame.mount(place)).catch(() => {})
  const places = document.querySelectorAll("[data-instrument]")
  const failed = document.documentElement.lang.startsWith("zh") ? "没有加载成功，可以再按一次。" : "It didn't load; you can press the button again."
  const offer = place => {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "md-button", textContent: place.dataset.button })
    const message = Object.assign(document.createElement("p"), { role: "alert", textContent: failed })
    button.addEventListener("click", async () => {
      button.disabled = true
      message.remove()
      await mount(place)
      const begin = place.querySelector(".panel :is(input, button)")
      if (begin) button.remove()
      else place.append(message)
      button.disabled = false
      begin?.focus()
    })
    place.append(button)
  }
  if (places.length && location.protocol !== "file:") {
    const near = new IntersectionObserver(seen => {
      for (const { isIntersecting, target } of seen) {
        if (!isIntersecting) continue
        near.unobserve(target)
        mount(target)
      }
    }, { rootMargin: "300px" })
    const asked = new URLSearchParams(location.search)
    for (const place of places) {
      if (place.dataset.button && !asked.has(place.dataset.instrument)) offer(place)
      else near.observe(place)
    }
  }
}
