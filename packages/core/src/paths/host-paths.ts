/** Not within a word, nor the path of an address: `http://host/a/b` is none of ours. */
const HOST_PATH = /(?<![\w/.~-])(?:~|[A-Za-z]:)?(?:[/\\][^\s/\\:;,"'`()<>]+){2,}[/\\]?/g

/** A text for callers, who need not know where things are on the host: of each absolute path only its last name is left. */
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
