const KEY = 'sallyport-theme'

/** Light and dark follow the system until somebody chooses. */
export function applyTheme(): void {
  const stored = localStorage.getItem(KEY)
  if (stored === 'light' || stored === 'dark') document.documentElement.dataset.theme = stored
}

export function toggleTheme(): void {
  const isDark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === 'dark'
    : matchMedia('(prefers-color-scheme: dark)').matches
  localStorage.setItem(KEY, isDark ? 'light' : 'dark')
  applyTheme()
}
