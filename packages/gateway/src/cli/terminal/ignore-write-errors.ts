/**
 * A failed message must never stop the work. A write fails if the reader is gone or the disk of a log is full, and Node
 * would then end the process (for a file by an exception, for a pipe by an event).
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
