/**
 * A server of the official SDK that can do what the conformance suite asks of one, in both eras. It asks in the way
 * of each era: in the legacy era it pushes its questions, in the modern era it returns them.
 *
 *   --http <port>   serves /mcp on 127.0.0.1, 0 for any free port; prints the port; ends with its stdin.
 *                   Without it: stdin and stdout
 */
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { createHttpDoor } from './http-door.ts'
import { createSdkServer } from './sdk-server.ts'

const { values } = parseArgs({ options: { http: { type: 'string' } } })

if (values.http === undefined) serveStdio(() => createSdkServer())
else {
  const server = createHttpDoor()
  server.listen(Number(values.http), '127.0.0.1', () => {
    process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
  })
  process.stdin.on('end', () => process.exit(0)).resume()
}
