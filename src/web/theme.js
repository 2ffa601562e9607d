// Runs before the first paint, as modules do not, and in browsers of any age. Sets what was chosen,
// light or dark; otherwise the system's setting applies, see page.css. Of all that the page needs
// two things are the newest: where one is missing a sentence says so and hides the rest.

{
  const chosen = localStorage.getItem('thermolog.theme')
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['theme'] = chosen
}
if (!(window.CSS && CSS.supports('color', 'light-dark(red,red)') && AbortSignal.any)) {
  document.write(
    '<h1>This browser is too old for this page</h1><p>Update it, or use Chrome or Edge 123, ' +
      'Firefox 124, Safari or iOS 17.5, or later.<plaintext hidden>',
  )
}
