type RejectionReporter = (error: unknown) => void

const reporters = new Set<RejectionReporter>()

/** The first server reports for all: it is unknown whose handler left the promise behind. */
function reportToFirst(error: unknown): void {
  const [report] = reporters
  report?.(error)
}

/**
 * While a server runs, a rejected promise that no handler awaits must not end the process for everybody: it is
 * reported. An exception outside of a promise (in a timer or an event listener) still ends the process, since nobody
 * knows what it left half done. Returns the function that stops watching.
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
