// The language switch keeps the section that is being read.
const language = document.querySelector("a.language")
for (const event of ["click", "auxclick", "contextmenu"]) {
  language?.addEventListener(event, () => { language.hash = location.hash })
}
