const CODES: readonly unknown[] = ['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND']

/**
 * The package that an `import` or `require` did not find; `undefined` for any other error and for a missing file. If
 * the folder of a package exists without its files, Node names the file.
 */
export function findMissingPackage(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && CODES.includes(error.code))) return undefined
  const [, name = ''] = /^Cannot find (?:package|module) '([^']+)'/.exec(error.message) ?? []
  const specifier = name.split(/[\\/]node_modules[\\/]/).at(-1) ?? ''
  return /^(@[^/.]+\/)?[^/.@][^/]*/.exec(specifier.replaceAll('\\', '/'))?.[0]
}

/** The hint for a missing package of ours: nothing that the user configured is the cause. */
export const INCOMPLETE_INSTALLATION_HINT =
  'The installation of Sallyport is incomplete. Install it again, and check the warnings of npm.'
