const LINE_FEED = 10

/** Passes on each line of a stream, without a copy if it came in one piece. */
export function readLines(stream, onLine) {
  let parts = []
  stream.on('data', (chunk) => {
    let from = 0
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
      parts.push(chunk.subarray(from, at))
      from = at + 1
      const line = parts.length === 1 ? parts[0] : Buffer.concat(parts)
      parts = []
      onLine(line)
    }
    if (from < chunk.length) parts.push(chunk.subarray(from))
  })
}
