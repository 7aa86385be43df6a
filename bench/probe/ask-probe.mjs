import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const PROBE = fileURLToPath(new URL('probe.mjs', import.meta.url))

/** What has to be in the environment of a process that is to be asked. */
export const probeEnvironment = (folder) => ({
  NODE_OPTIONS: `--import=${PROBE}`,
  SALLYPORT_BENCH_PROBE: folder,
})

/** Asks the probe inside a process. */
export async function askProbe({ folder, pid }, command, argument) {
  const socket = connect(join(folder, `${pid}.sock`))
  socket.write(JSON.stringify({ command, argument }))
  return JSON.parse(await text(socket))
}
