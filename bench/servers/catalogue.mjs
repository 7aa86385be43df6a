const argument = (extra) => ({
  type: 'object',
  properties: {
    text: { type: 'string', description: 'Text to return' },
    size: { type: 'integer', description: 'Number of bytes of the result', minimum: 0 },
    ...extra,
  },
})

const FILTER = {
  type: 'object',
  properties: {
    field: { type: 'string' },
    op: { enum: ['eq', 'lt', 'gt', 'like'] },
    value: { type: ['string', 'number'] },
  },
  required: ['field', 'op', 'value'],
}
const LIMIT = {
  type: 'integer',
  minimum: 1,
  maximum: 1000,
  default: 50,
  description: 'Upper bound of the number of rows',
}

/** A tool as real servers have them: about 700 bytes. */
const filler = (number) => ({
  name: `fill_${String(number).padStart(5, '0')}`,
  description: `Tool number ${number} of the bench. It reads an item of the inventory, filters it by the given criteria and returns the rows that match as text, newest first.`,
  inputSchema: argument({ filter: FILTER, limit: LIMIT }),
  annotations: { readOnlyHint: number % 3 !== 0, destructiveHint: number % 3 === 0, title: `Fill ${number}` },
})

/** This many tools, as JSON text: `echo {text}`, `blob {size}`, and fillers. */
export function printTools(count) {
  const real = [
    { name: 'echo', description: 'Return the given text', inputSchema: argument() },
    { name: 'blob', description: 'Return a text of the given size', inputSchema: argument() },
  ]
  const fillers = Array.from({ length: Math.max(0, count - real.length) }, (_, index) => filler(index + real.length))
  return JSON.stringify([...real, ...fillers])
}
