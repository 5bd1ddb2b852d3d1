// Before anything is drawn: the theme that was chosen here, if one was.
"use strict";
try {
  const chosen = localStorage.getItem("tacit-theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch { /* a browser without storage follows the system */ }
