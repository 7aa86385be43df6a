/** What stands at a path: a link with its target, anything else, nothing, or something that cannot be looked at. */
export type LinkStatus = { readonly target: string } | 'other' | 'missing' | 'unreadable'

/** Undefined where there is nothing to look at, as on another machine. */
export type LinkInspector = ((path: string) => LinkStatus) | undefined

/** The surroundings in which the paths of one server are read. */
export interface PathContext {
  readonly environment: (name: string) => string | undefined
  /** Undefined where it is not known; so is the next. */
  readonly userHome: string | undefined
  /** The working folder of the server. */
  readonly cwd: string | undefined
  /** The other folders from which the server may read a relative path, as they are now: those among its arguments. */
  readonly listBaseFolders: () => readonly string[]
  readonly inspectLink: LinkInspector
  /** The names in a folder; none where it cannot be read, and undefined where there are too many to be read. */
  readonly listNames: (folder: string) => readonly string[] | undefined
  /** Whether the file system takes `/ETC` for `/etc`. */
  readonly case: 'exact' | 'folded'
}
