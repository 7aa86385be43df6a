/** Hands over a message's whole body, without a copy where it came in one piece. */
export function readBody(stream, onBody) {
  const parts = []
  stream.on('data', (part) => parts.push(part))
  stream.on('end', () => onBody(parts.length === 1 ? parts[0] : Buffer.concat(parts)))
}
