import { SallyportError } from '@sallyport/core'

export function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new SallyportError('USAGE', `--port is ${JSON.stringify(text)}; expected a number from 0 to 65535.`)
}
