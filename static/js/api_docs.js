// Swagger UI has its own class for dark mode: it follows the panel's theme.
(() => {
  const follow = () => {
    document.documentElement.classList.toggle("dark-mode", document.documentElement.dataset.bsTheme === "dark");
  };
  document.addEventListener("pooldeck:theme", follow);
  follow();
})();
