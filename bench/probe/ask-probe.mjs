import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** What has to be loaded into a process that is to be asked, and the variable that tells it where its socket goes. */
export const PROBE = fileURLToPath(new URL('probe.mjs', import.meta.url))
export const PROBE_FOLDER = 'SALLYPORT_BENCH_PROBE'

/** Asks the probe inside a process. */
export async function askProbe({ folder, pid }, command, argument) {
  const socket = connect(join(folder, `${pid}.sock`))
  socket.write(JSON.stringify({ command, argument }))
  return JSON.parse(await text(socket))
}
