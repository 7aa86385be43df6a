type RejectionReporter = (error: unknown) => void

const reporters = new Set<RejectionReporter>()

/** The first one that serves reports for all: nobody can tell whose handler left the promise behind. */
function reportToFirst(error: unknown): void {
  const [report] = reporters
  report?.(error)
}

/**
 * While something is served, a promise that a handler left behind and that is rejected must not end the process for
 * everybody: it is reported. An exception outside of any promise (in a timer, in an event listener) still ends it, since
 * nobody knows what it left half done. Returns the function that ends the watch.
 */
export function watchUnhandledRejections(report: RejectionReporter): () => void {
  const own: RejectionReporter = (error) => report(error)
  if (reporters.size === 0) process.on('unhandledRejection', reportToFirst)
  reporters.add(own)
  return () => {
    reporters.delete(own)
    if (reporters.size === 0) process.off('unhandledRejection', reportToFirst)
  }
}
