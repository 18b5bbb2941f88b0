// Light or dark, as the person chose here before; it runs before the page is drawn, so that nothing flashes.
"use strict";

{
  let chosen = null;
  try {
    chosen = localStorage.getItem("wherefrom.theme");
  } catch {
    // Storage can be forbidden; then it is as the system says.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
}
