// Light or dark, before anything is painted: a plain script, as modules run later. Without a choice
// the system's own holds, see page.css.

{
  const chosen = localStorage.getItem('thermolog.theme')
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['theme'] = chosen
}
