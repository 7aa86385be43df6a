/** Not inside a word, and not the path of a URL such as `http://host/a/b`. */
const HOST_PATH = /(?<![\w/.~-])(?:~|[A-Za-z]:)?(?:[/\\][^\s/\\:;,"'`()<>]+){2,}[/\\]?/g

/** Shortens each absolute path to its last name: callers need not know where things are on the host. */
export function hideHostPaths(text: string): string {
  return text.replaceAll(
    HOST_PATH,
    (path) =>
      `…/${path
        .replace(/[/\\]$/, '')
        .split(/[/\\]/)
        .at(-1)}`,
  )
}
