/** `npm start`: builds, and then is the gateway itself, so that a signal to npm reaches it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const MAIN = new URL('../packages/gateway/dist/cli/main.js', import.meta.url)

await build()
process.argv.splice(1, 1, fileURLToPath(MAIN), 'serve', '--demo')
await import(MAIN.href)

function signalGroup(leader, signal) {
  try {
    process.kill(-leader, signal)
  } catch {
    // All of it has ended.
  }
}

/** In a process group of its own: npm and sh pass no signal on to what they started, and a group has no gaps. */
async function build() {
  const builder = spawn('npm', ['run', '--silent', 'build'], { stdio: 'inherit', detached: true })
  let stoppedBy
  const stop = (signal) => {
    stoppedBy = signal
    signalGroup(builder.pid, 'SIGTERM')
    // The compiler goes on until it is done.
    setTimeout(() => signalGroup(builder.pid, 'SIGKILL'), 1_000).unref()
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.on(signal, stop)
  const [code] = await once(builder, 'exit')
  for (const signal of signals) process.off(signal, stop)
  if (stoppedBy) {
    signalGroup(builder.pid, 'SIGKILL')
    // As if nobody had caught it.
    process.kill(process.pid, stoppedBy)
  }
  if (code !== 0) process.exit(code ?? 1)
}
