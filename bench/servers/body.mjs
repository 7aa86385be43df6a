/** Passes on the whole body of a message, without a copy if it came in one piece. */
export function readBody(stream, onBody) {
  const parts = []
  stream.on('data', (part) => parts.push(part))
  stream.on('end', () => onBody(parts.length === 1 ? parts[0] : Buffer.concat(parts)))
}
