// Light or dark, set before the first paint: a plain script, because modules run later. Without a
// choice the system's setting applies; see page.css.

{
  const chosen = localStorage.getItem('thermolog.theme')
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['theme'] = chosen
}
