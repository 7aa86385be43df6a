/**
 * Words must never cost the work: a reader that went away, or a full disk under a log, makes a write fail, and Node
 * would end the process for it (for a file by an exception, for a pipe by an event).
 */
export function ignoreWriteErrors(stderr: NodeJS.WriteStream): void {
  const write = stderr.write.bind(stderr) as (...args: unknown[]) => boolean
  stderr.on('error', () => {})
  stderr.write = (...args: unknown[]): boolean => {
    try {
      return write(...args)
    } catch {
      return false
    }
  }
}
