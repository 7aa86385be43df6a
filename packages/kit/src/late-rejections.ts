type Report = (error: unknown) => void

const reports = new Set<Report>()

/** The first one that serves reports for all: nobody can tell whose handler left the promise behind. */
function reportFirst(error: unknown): void {
  const [report] = reports
  report?.(error)
}

/**
 * While something is served, a promise that a handler left behind and that is rejected must not end the process for
 * everybody: it is reported. An exception outside of any promise (in a timer, in an event listener) still ends it, since
 * nobody knows what it left half done. Returns the function that ends the watch.
 */
export function watchRejections(report: Report): () => void {
  const own: Report = (error) => report(error)
  if (reports.size === 0) process.on('unhandledRejection', reportFirst)
  reports.add(own)
  return () => {
    reports.delete(own)
    if (reports.size === 0) process.off('unhandledRejection', reportFirst)
  }
}
