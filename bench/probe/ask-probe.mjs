import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** What has to be loaded into a process to inspect it, and the variable with the path of its socket. */
export const PROBE = fileURLToPath(new URL('probe.mjs', import.meta.url))
export const PROBE_FOLDER = 'SALLYPORT_BENCH_PROBE'

/** Asks the probe inside a process. */
export async function askProbe({ folder, pid }, command, argument) {
  const socket = connect(join(folder, `${pid}.sock`))
  socket.write(JSON.stringify({ command, argument }))
  return JSON.parse(await text(socket))
}
