/** What is at a path: a link with its target, anything else, nothing, or something that cannot be read. */
export type LinkStatus = { readonly target: string } | 'other' | 'missing' | 'unreadable'

/** `undefined` if the disk cannot be inspected, for example because it is on another machine. */
export type LinkInspector = ((path: string) => LinkStatus) | undefined

/** The environment in which one server interprets paths. */
export interface PathContext {
  readonly environment: (name: string) => string | undefined
  /** `undefined` if it is not known. */
  readonly userHome: string | undefined
  /** The working folder of the server; `undefined` if it is not known. */
  readonly cwd: string | undefined
  /** Other folders that a relative path may refer to, as they are now: those among the server's own arguments. */
  readonly listBaseFolders: () => readonly string[]
  readonly inspectLink: LinkInspector
  /** The names in a folder; empty if it cannot be read, `undefined` if there are too many. */
  readonly listNames: (folder: string) => readonly string[] | undefined
  /** `folded` if the file system treats `/ETC` and `/etc` as the same. */
  readonly case: 'exact' | 'folded'
}
